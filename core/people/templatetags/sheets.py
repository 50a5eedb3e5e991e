"""Parts of pages that are the same for everybody: style sheets, and pieces rendered once per language and process."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from core.people.rules.project_pages import page_of

register = template.Library()

APP_SHEETS = {
    "annotation": ("annotation", "campaigns", "reports"),
    "conversation": ("dashboard", "campaigns"),
    "corpora": ("places", "reports"),
    "dashboard": ("dashboard",),
    "gapgame": ("game", "seasons", "reports"),
    "images": ("collections",),
    "imports": ("collections",),
    "inference": ("models", "reports"),
    "people": ("people",),
    "practice": ("annotation", "campaigns"),
    "recruitment": ("people",),
    "scoring": ("reports",),
    "sxs_eval": ("comparisons", "reports"),
}
"""What the pages of an app need besides tables. The screens that people work on name their one sheet themselves."""


@register.simple_tag(takes_context=True)
def app_sheets(context: Context) -> SafeString:
    """Link tables, the navigation of a project, and the sheets of the app that the page belongs to."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None:
        return sheets("tables")
    navigation = ("project",) if page_of(match.route) else ()
    return sheets("tables", *navigation, *APP_SHEETS.get(match.app_name, ()))


@register.simple_tag
def sheets(*names: str) -> SafeString:
    """Link the sheets of these names, in this order."""
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', ((static(f"css/{name}.css"),) for name in names))


@register.simple_tag
def fixed(template_name: str, **values: Hashable) -> SafeString:
    """Render `template_name`, which needs no variable except `values`, of which there are few.

    Such parts took a third of the time of a busy page.
    """
    return _rendered(template_name, get_language(), *values.items())


@lru_cache(maxsize=256)
def _rendered(template_name: str, language: str | None, *values: tuple[str, Hashable]) -> SafeString:
    return render_to_string(template_name, dict(values))
