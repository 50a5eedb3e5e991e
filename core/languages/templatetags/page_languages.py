"""`{% page_languages %}`: the languages to choose from, with the one of the page selected."""

from __future__ import annotations

from functools import cache

from django import template
from django.conf import settings
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_info

from core.languages.rules.page_languages import REVIEWED

register = template.Library()


@register.simple_tag
def page_languages() -> SafeString:
    return _options(get_language() or settings.LANGUAGE_CODE)


@register.simple_tag
def is_reviewed() -> bool:
    """Whether a native speaker has reviewed the translation that the page is in."""
    return (get_language() or settings.LANGUAGE_CODE) in REVIEWED


@cache
def _options(chosen: str) -> SafeString:
    """Made once for each language: it stands on every page."""
    return format_html_join(
        "\n",
        '<option value="{}" lang="{}" dir="{}"{}>{}</option>',
        (
            (
                code,
                code,
                "rtl" if get_language_info(code)["bidi"] else "ltr",
                " selected" if code == chosen else "",
                get_language_info(code)["name_local"],
            )
            for code, _name in settings.LANGUAGES
        ),
    )
