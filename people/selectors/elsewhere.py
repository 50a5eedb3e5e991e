"""What somebody could use in a project once they add it to the project, or share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from people.models import Membership, Owned, Project, Role, User
from people.permissions import usable_in


@dataclass(frozen=True)
class UnusableThing:
    """`project` is the name of the one that has it, "" if none; `url` leads to the page that changes its owner."""

    name: str
    project: str
    url: str


def unusable_things(
    things: QuerySet[Any], project: Project | None, *, by: User, url_of: Callable[[Any], str]
) -> list[UnusableThing]:
    """List those of `things` about which `by` decides, and which `project`, or one that they start, may not use."""
    managed = Membership.objects.filter(user=by.pk, role=Role.MANAGER)
    decided = Q(project__in=managed.values("project"))
    if project is None or managed.filter(project=project).exists():
        decided |= Q(project=None, created_by=by)
    found = things.filter(decided).exclude(usable_in(project, by=by)).select_related("project").order_by("name", "pk")
    return [UnusableThing(one.name, _owner(one), url_of(one)) for one in found]


def _owner(thing: Owned) -> str:
    return thing.project.name if thing.project else ""
