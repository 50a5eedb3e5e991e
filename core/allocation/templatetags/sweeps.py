"""Whether the background work that a page relies on is running."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone

from core.allocation.services import lifecycle

register = template.Library()


@register.simple_tag
def sweeps_silent_since() -> datetime | None:
    return lifecycle.sweeps_silent_since(now=timezone.now())
