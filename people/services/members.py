"""Give roles in a project and take them away. Who may is decided before."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from people.models import Membership, Project, Role, User
from people.rules.roles import conflicting_roles
from people.services import audit_log


class MembershipError(Exception):
    """Something that may not be; says to the person at the screen why and what to do."""


class RoleConflictError(MembershipError):
    pass


class LastManagerError(MembershipError):
    pass


def add_member(*, project: Project, user: User, role: Role) -> Membership:
    """Give `user` a role; the same again changes nothing. Whoever calls this writes it into the log.

    Raises
    ------
    RoleConflictError
        If the role does not go with one that they have in the project.
    """
    with transaction.atomic():
        lock_person(user)
        roles = set(Membership.objects.filter(project=project, user=user).values_list("role", flat=True))
        if why := conflicting_roles(roles | {role}):
            raise RoleConflictError(why)
        return Membership.objects.get_or_create(project=project, user=user, role=role)[0]


def remove_member(*, membership: Membership, by: User, now: datetime) -> None:
    """Take a role from somebody. What they handed in stays. Done twice it is done once.

    Raises
    ------
    LastManagerError
        If nobody would be left to manage the project.
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


def lock_person(user: User) -> None:
    """Let one thing at a time happen to a person, whatever they have open in other tabs."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
