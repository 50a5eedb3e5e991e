"""Owners of things that are made for one project or shared with all: who may choose what, and changing it.

Apps register here what uses their things, so that nothing is taken from a project that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.people.models import Membership, Owned, Project, Role, User
from core.people.permissions import READERS, may_start_projects
from core.people.services import audit_log

Users = Callable[[Any], "QuerySet[Any, Any]"]
ANYBODY = ""
"""In place of a path: its users are shared with all, so it must be too."""
_users: dict[type[Owned], list[tuple[Users, str]]] = defaultdict(list)


class OwnerRefusedError(Exception):
    """It cannot belong to that project, or not to it alone; the message says why."""


def register(kind: type[Owned], users: Users, project: str = "project") -> None:
    """Register rows that use a thing of `kind`, and the path to their project. Call it when the app is ready."""
    _users[kind].append((users, project))


def projects_to_own(user: User | AnonymousUser, *roles: Role) -> QuerySet[Project]:
    """Return projects in which `user` may make things, or has one of `roles`; all for people who may start projects."""
    if may_start_projects(user):
        return Project.objects.all()
    mine = Membership.objects.filter(user=user.pk, role__in=roles or READERS).values("project")
    return Project.objects.filter(pk__in=mine)


def change_owner(
    *, things: Sequence[Owned], project: Project | None, is_shared: bool, by: User | None, now: datetime
) -> None:
    """Give `things`, of one kind, to `project`, for it alone or shared with all; all of them or none.

    Raises OwnerRefusedError where another project uses one that would not be shared any more, or the name is taken.
    """
    try:
        with transaction.atomic():
            for thing in things:
                # New uses lock the project and are not waited for.
                locked: Owned = type(thing)._default_manager.select_for_update(no_key=True).get(pk=thing.pk)
                if not is_shared and is_used_outside(locked, project):
                    text = _("“%(name)s” is used by other projects too. Share it with all instead.")
                    raise OwnerRefusedError(text % {"name": locked})
                _record_change(locked, project, is_shared=is_shared, by=by, now=now)
                thing.project, thing.is_shared = project, is_shared
                thing.save(update_fields=["project", "is_shared"])
    except IntegrityError as error:
        text = _("“%(project)s” already has one called “%(name)s”. Choose another project.")
        raise OwnerRefusedError(text % {"project": project or _("no project"), "name": things[0]}) from error


def not_usable(thing: Owned, project: Project | None) -> str:
    """Say why `project`, or work without a project, cannot use `thing`: both are named."""
    names = {"name": thing, "owner": thing.project, "project": project}
    if project is None:
        text = _("“%(name)s” belongs to the project “%(owner)s”, and you chose no project. Choose “%(owner)s”.")
    elif thing.project is None:
        text = _("“%(name)s” is in no project yet. Add it to “%(project)s” first.")
    else:
        text = _(
            "“%(name)s” belongs to the project “%(owner)s”, not to “%(project)s”. Choose another one, or share it "
            "with all."
        )
    return text % names


def check_parts(parts: Iterable[Owned | None], *, project: Project | None, is_shared: bool) -> None:
    """Check that what is made of `parts` may belong to `project`, or be shared with all.

    Raises OwnerRefusedError where one of them is not as widely shared.
    """
    for part in parts:
        if part is not None and not part.is_shared and (is_shared or part.project_id != (project and project.pk)):
            raise OwnerRefusedError(_("It uses “%(name)s”, which is not shared with all.") % {"name": part})


def is_name_taken(thing: Any) -> bool:
    """Return whether another of its kind beside `thing` has its name: of the same owner, or shared with all.

    What other projects have for themselves is not checked, so that nobody finds out about it.
    """
    of_owner = Q(project=thing.project_id) if thing.project_id else Q(project=None, created_by=thing.created_by_id)
    namesakes = type(thing)._default_manager.filter(of_owner | Q(is_shared=True), name=thing.name)
    return bool(namesakes.exclude(pk=thing.pk).exists())


def is_used_outside(thing: Owned, project: Project | None) -> bool:
    """Return whether anything outside `project` uses `thing`."""
    return any(
        users(thing).exclude(Q(**{path: project}) if project and path else Q(pk__in=[])).exists()
        for users, path in _users[type(thing)]
    )


def users_of(thing: Owned) -> dict[str, int]:
    """Count what uses `thing`, by the name of its kind."""
    counts: dict[str, int] = {}
    for users, _path in _users[type(thing)]:
        rows = users(thing)
        kind = str(rows.model._meta.verbose_name_plural)
        counts[kind] = max(counts.get(kind, 0), rows.count())
    return {kind: number for kind, number in counts.items() if number}


def _record_change(thing: Owned, project: Project | None, *, is_shared: bool, by: User | None, now: datetime) -> None:
    """Record it in the logs of the project that had it and of the one that gets it."""
    concerned = {one.pk: one for one in (thing.project, project) if one is not None}
    details = {"to": project.slug if project else "", "shared": is_shared}
    for _pk, one in sorted(concerned.items()):
        subject = f"{thing._meta.verbose_name} {thing}"
        audit_log.record(project=one, action="owner.changed", about=subject, by=by, now=now, details=details)
