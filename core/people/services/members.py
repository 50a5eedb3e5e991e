"""Starting projects, and giving and removing roles in them, also as the groups of another service say.

Callers check permissions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model, Q
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.people import defaults
from core.people.models import ConsentText, Membership, Project, ProvidedRole, Role, TextKind, User
from core.people.rules.roles import conflicting_roles
from core.people.rules.sign_in_providers import GivenRole
from core.people.services import audit_log


class MembershipError(Exception):
    """The change is not allowed; the message says why and what to do."""


class RoleConflictError(MembershipError):
    pass


class LastManagerError(MembershipError):
    pass


def add_member(*, project: Project, user: User, role: Role) -> Membership:
    """Give `user` a role; repeating it changes nothing. The caller writes the audit log.

    Raises RoleConflictError if the role does not go with one that they have in the project.
    """
    with transaction.atomic():
        lock_person(user)
        roles = set(Membership.objects.filter(project=project, user=user).values_list("role", flat=True))
        if why := conflicting_roles(roles | {role}):
            raise RoleConflictError(why)
        return Membership.objects.get_or_create(project=project, user=user, role=role)[0]


def remove_member(*, membership: Membership, by: User | None, now: datetime) -> None:
    """Remove a role from somebody; `by` is None where groups of another service say so.

    What they submitted stays. Repeating it changes nothing.

    Raises LastManagerError if nobody would be left to manage the project.
    """
    with transaction.atomic():
        managers = Q(project=membership.project_id, role=Role.MANAGER)
        # All of them are locked, in one order, so that two who remove each other do not both succeed.
        locked = list(Membership.objects.filter(managers | Q(pk=membership.pk)).order_by("pk").select_for_update())
        if membership not in locked:
            return
        others = [member for member in locked if member.role == Role.MANAGER and member != membership]
        if membership.role == Role.MANAGER and not others:
            raise LastManagerError(_("A project needs at least one manager. Invite another one first."))
        audit_log.record(
            project=membership.project,
            action="role.removed",
            about=membership.role,
            by=by,
            person=membership.user,
            now=now,
        )
        membership.delete()


def lock_person(person: User) -> None:
    """Make the tabs of one person take turns; the lock leaves foreign keys to the person free."""
    User.objects.select_for_update(no_key=True).values_list("pk").get(pk=person.pk)


log = logging.getLogger(__name__)


def follow_groups(*, user: User, provider: str, wanted: Iterable[GivenRole], now: datetime) -> None:
    """Give the roles of `wanted` and take away those that `provider` gave before. Roles that people gave stay."""
    asked = {(one.project, one.role) for one in wanted}
    with transaction.atomic():
        lock_person(user)
        given = ProvidedRole.objects.filter(user=user, provider=provider).select_related("membership__project")
        for one in given:
            key = (one.membership.project.slug, one.membership.role)
            if key in asked:
                asked.discard(key)
            else:
                _take(one, user, now)
        for slug, role in sorted(asked):
            _give(user, provider, slug, Role(role), now)


def _give(user: User, provider: str, slug: str, role: Role, now: datetime) -> None:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        log.warning("Groups of %s give a role in %s, which is no project", provider, slug)
        return
    if project.memberships.filter(user=user, role=role).exists():
        return  # a person gave it, and takes it away
    try:
        with transaction.atomic():
            membership = add_member(project=project, user=user, role=role)
    except MembershipError as refused:
        log.warning("Account %s gets no role %s in %s from groups of %s: %s", user.pk, role, slug, provider, refused)
        return
    ProvidedRole.objects.create(user=user, provider=provider, membership=membership)
    audit_log.record(
        project=project, action="role.given", about=role, by=None, person=user, now=now, details={"provider": provider}
    )


def _take(given: ProvidedRole, user: User, now: datetime) -> None:
    try:
        with transaction.atomic():
            remove_member(membership=given.membership, by=None, now=now)
    except MembershipError as refused:
        log.warning("Account %s keeps a role that %s no longer gives: %s", user.pk, given.provider, refused)


SLUG_LENGTH = 40
_beginnings: list[Callable[..., None]] = []


def also_begin(give: Callable[..., None]) -> None:
    """Register what an app above gives each new project, by a function of `project`, `by` and `now`."""
    _beginnings.append(give)


def give_beginnings(*, project: Project, by: User, now: datetime) -> None:
    """Give a new project what apps above registered; copies of projects have that of their originals."""
    for give in _beginnings:
        give(project=project, by=by, now=now)


def _first_consent(manager: User) -> dict[str, str]:
    contact = manager.email or manager.username
    return {"body": defaults.default_text(TextKind.CONSENT), "licence": defaults.LICENCE, "contact": contact}


def create_project(
    *, name: str, manager: User, description: str = "", consent_body: str = "", slug: str = ""
) -> Project:
    """Make a project with its first manager and the first version of its consent text; the caller logs it.

    Without a `slug`, it is made from `name`, with a number if it is taken.
    """
    wanted = (slug or slugify(name))[:SLUG_LENGTH].strip("-") or "project"
    with transaction.atomic():
        project = _with_free_slug(wanted, name=name, description=description, created_by=manager)
        Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
        said = {"body": consent_body} if consent_body else _first_consent(manager)
        ConsentText.objects.create(project=project, version=1, **said)
    return project


def _with_free_slug(wanted: str, **about: Any) -> Project:
    while True:
        slug = free_slug(Project, wanted)
        try:
            with transaction.atomic():
                return Project.objects.create(slug=slug, **about)
        except IntegrityError:
            # Somebody else took it at this moment.
            if not Project.objects.filter(slug=slug).exists():
                raise


def free_slug(model: type[Model], wanted: str, *, reserved: Collection[str] = ()) -> str:
    """Return a slug that no row of `model` has: `wanted`, with a number if it is taken."""
    taken = {*reserved, *model._default_manager.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    slug, number = wanted, 1
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug
