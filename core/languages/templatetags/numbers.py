"""`{{ value|number }}`: a number that may be over 999, with the separators of the page's language."""

from __future__ import annotations

from django import template
from django.utils.translation import get_language

from core.languages.rules.cldr import number_text

register = template.Library()


@register.filter
def number(value: float) -> str:
    return number_text(value, get_language() or "")
