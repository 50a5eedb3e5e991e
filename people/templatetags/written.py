"""Language and direction of what people wrote in a language of their choice."""

from __future__ import annotations

from django import template
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from languages.rules.traits import is_english

register = template.Library()


@register.simple_tag
def written(text: str) -> SafeString:
    """The attributes `lang` and `dir` of an element that holds `text`, plain or HTML.

    The pages' own language must not be passed on to it. Empty, `lang` says that the language is not known.
    """
    return SafeString('lang="en" dir="ltr"' if is_english(strip_tags(text)) else 'lang="" dir="auto"')
