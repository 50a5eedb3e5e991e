"""Reasons to skip a sentence, for a part of the page that is rendered once and without a context."""

from __future__ import annotations

from django import template

from gapgame.models import SkipReason

register = template.Library()


@register.simple_tag
def skip_reasons() -> list[tuple[str, str]]:
    return [(reason.value, str(reason.label)) for reason in SkipReason]
