"""How long until something, in words, and the state of a season now."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _

from gapgame.models import Season
from gapgame.selectors.public import SeasonState, state_of

register = template.Library()


@register.simple_tag
def season_state(season: Season) -> SeasonState:
    return state_of(season, timezone.now())


@register.filter
def time_left(until: datetime, now: datetime | None = None) -> str:
    """Return `timeuntil`, but “less than a minute” where that says “0 minutes”."""
    now = now or timezone.now()
    return timeuntil(until, now) if until - now >= timedelta(minutes=1) else _("less than a minute")
