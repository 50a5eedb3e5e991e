"""What work is paid in a project, as the app of costs says, which is above all that plan and show work."""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal

from core.people.models import Project, User
from core.people.rules.pay import PromisedPay

WorkKey = tuple[int, str]
"""A project and the tag of a language."""
RateOf = Callable[[Project], tuple[Decimal, str] | None]
PromisesTo = Callable[[User, Collection[int]], Callable[[WorkKey], PromisedPay | None]]
_rate_of: list[RateOf] = []
_promises_to: list[PromisesTo] = []


def register_rates(rate_of: RateOf, promises_to: PromisesTo) -> None:
    """Register the queries for what an hour costs in a project, and for what a person is paid in some projects."""
    _rate_of[:] = [rate_of]
    _promises_to[:] = [promises_to]


def rate_of(project: Project) -> tuple[Decimal, str] | None:
    return next((rate_of(project) for rate_of in _rate_of), None)


def promises_to(person: User, projects: Collection[int]) -> Callable[[WorkKey], PromisedPay | None]:
    """Return what says how `person` is paid in a language of one of `projects`; the queries are done by then."""
    return next((promises_to(person, projects) for promises_to in _promises_to), lambda _key: None)
