"""What somebody could use in a project once they add it to the project, or share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet

from core.people.models import Membership, Owned, Project, Role, User
from core.people.permissions import usable_in


def unusable_things(
    things: QuerySet[Any], project: Project | None, *, by: User, url_of: Callable[[Any], str]
) -> list[tuple[Owned, str]]:
    """List things about which `by` decides, and which `project`, or one that they start, may not use.

    Each comes with the address that changes its owner.
    """
    managed = Membership.objects.filter(user=by.pk, role=Role.MANAGER)
    decided = Q(project__in=managed.values("project"))
    if project is None or managed.filter(project=project).exists():
        decided |= Q(project=None, created_by=by)
    found = things.filter(decided).exclude(usable_in(project, by=by)).select_related("project").order_by("name", "pk")
    return [(one, url_of(one)) for one in found]
