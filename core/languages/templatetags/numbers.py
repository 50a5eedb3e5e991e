"""`{{ value|number }}`, which may be over 999, and `{{ amount|money:currency }}`, in the language of the page."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.translation import get_language

from core.languages.rules.cldr import money_text, number_text

register = template.Library()


@register.filter
def number(value: float) -> str:
    return number_text(value, get_language() or "")


@register.filter
def money(amount: Decimal, currency: str) -> str:
    return money_text(amount, currency, get_language() or "")
