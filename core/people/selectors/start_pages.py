"""The page on which somebody begins, for each role.

Raters have two pages of work, in apps that do not know each other, so each registers how to find out whether there is
anything on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from core.people.models import Role, User
from core.people.rules.roles import home_of

HasWork = Callable[[User, datetime], bool]
_pages_of_raters: dict[str, HasWork] = {}


def register_for_raters(address: str, has_work: HasWork) -> None:
    """Register the name of a page with work for raters; call it when the app is ready."""
    _pages_of_raters[address] = has_work


def start_page(user: User, roles: Collection[str], *, may_start_projects: bool = False, now: datetime) -> str | None:
    """Return the name of the page for somebody with `roles`; None if there is none yet."""
    home = home_of(roles, may_start_projects=may_start_projects)
    if home == home_of({Role.RATER}, may_start_projects=False):
        return next((page for page, has_work in _pages_of_raters.items() if has_work(user, now)), home)
    return home
