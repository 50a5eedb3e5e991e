"""What an hour of work costs in a project, as the app of costs says, which is above all that plan work."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from core.people.models import Project

RateOf = Callable[[Project], tuple[Decimal, str] | None]
_rate_of: list[RateOf] = []


def register_rate(rate_of: RateOf) -> None:
    """Register the query for what an hour costs in a project, and in which currency."""
    _rate_of[:] = [rate_of]


def rate_of(project: Project) -> tuple[Decimal, str] | None:
    return next((rate_of(project) for rate_of in _rate_of), None)
