"""Roles that the groups of another service give: added and taken away each time that somebody signs in with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from core.people.models import Project, ProvidedRole, Role, User
from core.people.rules.sign_in_providers import GivenRole
from core.people.services import audit_log
from core.people.services.members import MembershipError, add_member, lock_person, remove_member

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
