"""The game on the front page."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from gapgame.permissions import seasons_open_to
from gapgame.selectors.public import listed_seasons

register = template.Library()
MAX_SEASONS = 6


@register.inclusion_tag("gapgame/_open_seasons.html")
def open_seasons() -> dict[str, Any]:
    """Show seasons that everybody may join, and the results of past ones."""
    nobody = AnonymousUser()
    return {"seasons": listed_seasons(seasons_open_to(nobody), nobody, timezone.now())[:MAX_SEASONS]}
