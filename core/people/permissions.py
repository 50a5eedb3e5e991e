"""Who may do what: from a user and a slug to the object, or 404. Pages, API and commands all use it."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from core.people.models import Consent, Membership, Project, Role, User
from core.people.rules.roles import CONTRIBUTORS

READERS = (Role.MANAGER, Role.RESEARCHER)
"""Roles that read everything of their project but its people, and use what belongs to it: collections, models, runs."""

SECOND_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

EVERYTHING = Q(pk__isnull=False)
"""Unlike an empty Q, it stays true when joined to others by “or”."""


class ManagersOnlyError(Http404):
    """A researcher asks for what only managers of their project may do: a page is not there, the API says why."""


def project_for(user: User | AnonymousUser, slug: str, *roles: Role) -> Project:
    """Return the project `slug`, if `user` has one of `roles` in it (any role if none is named).

    Raises Http404 also if the project exists: outsiders must not find out.
    """
    members = Membership.objects.filter(user=user.pk, project__slug=slug, project__deletion=None)
    allowed = members.filter(role__in=roles) if roles else members
    member = allowed.select_related("project").first()
    if member is None:
        if members.filter(role=Role.RESEARCHER).exists():
            raise ManagersOnlyError(_("Only managers of this project can do this."))
        raise Http404(_("You have no project of this name."))
    return member.project


def project_consented_to(user: User | AnonymousUser, slug: str) -> Project:
    """Return a project that `user` is in or has agreed to: former members can still withdraw their consent.

    Raises Http404.
    """
    given = Consent.objects.filter(user=user.pk, text__project__slug=slug, withdrawn_at=None)
    consent = given.select_related("text__project").first()
    return consent.text.project if consent else project_for(user, slug)


def is_in_archived(user: User | AnonymousUser, slug: str) -> bool:
    """Return whether `user` has a role in the project `slug` and it is archived: then nobody changes it."""
    return Membership.objects.filter(user=user.pk, project__slug=slug, project__archived_at__isnull=False).exists()


def has_role(user: User | AnonymousUser, project: Project, *roles: Role) -> bool:
    return Membership.objects.filter(user=user.pk, project=project, role__in=roles).exists()


def in_reach(user: User | AnonymousUser, path: str = "", *, roles: tuple[Role, ...] = READERS) -> Q:
    """Return the condition that an object (core.people.models.Owned) at `path` may be seen and used by `user`.

    It is shared, belongs to a project in which `user` has one of `roles`, or was made by `user` and has no project yet.
    People who may start projects can use everything. First check that `user` has one of `roles` in any project.
    """
    return Q(**{f"{path}is_shared": True}) | in_charge(user, path, roles=roles)


def in_charge(user: User | AnonymousUser, path: str = "", *, roles: tuple[Role, ...] = READERS) -> Q:
    """Return the condition that `user` may change it: sharing is not enough; staff change what has no owner."""
    if may_start_projects(user):
        return EVERYTHING
    mine = Membership.objects.filter(user=user.pk, role__in=roles).values("project")
    return Q(**{f"{path}project__in": mine}) | Q(
        **{f"{path}project": None, f"{path}is_shared": False, f"{path}created_by": user.pk}
    )


def usable_in(project: Project | int | None, path: str = "", *, by: User | None = None) -> Q:
    """Return the condition that `project` may use what is at `path`: it is its own, or shared with all.

    Without a project: what `by` made and has no project yet; without either, as in commands, everything.
    """
    if project is None and by is None:
        return EVERYTHING
    own = Q(**{f"{path}project": project})
    if project is None and by is not None and not may_start_projects(by):
        own &= Q(**{f"{path}created_by": by})
    return Q(**{f"{path}is_shared": True}) | own


def manages_anything(user: User | AnonymousUser) -> bool:
    """Return whether `user` may make collections and projects: manages one project or may start one."""
    if not user.is_authenticated:
        return False
    if may_start_projects(user):
        return True
    return Membership.objects.filter(user=user.pk, role=Role.MANAGER).exists()


def check_reader(user: User | AnonymousUser) -> None:
    """Raises Http404: the user neither manages a project nor does research in one, and may not start one."""
    if not reads_anything(user):
        raise Http404(_("There is no such page."))


def reads_anything(user: User | AnonymousUser) -> bool:
    """Return whether `user` may see collections and models: manages or studies a project, or may start one."""
    of_projects = Membership.objects.filter(user=user.pk, role__in=READERS)
    return user.is_authenticated and (of_projects.exists() or may_start_projects(user))


def manages_all(user: User, projects: QuerySet[Project]) -> bool:
    managed = Membership.objects.filter(user=user, role=Role.MANAGER).values("project")
    return not projects.exclude(pk__in=managed).exists()


def may_change_accounts(user: User) -> bool:
    """Return whether `user` is an administrator who may change anybody's account."""
    return user.is_staff and user.has_perm("people.change_user")


def may_have_link(user: User) -> bool:
    """Return whether a personal link may sign `user` in: somebody without a password who writes, rates or plays.

    No project is needed: who is removed from all of them can still see, withdraw and delete what is theirs.
    """
    if not user.is_active or user.has_usable_password() or user.is_staff or user.is_superuser:
        return False
    return not user.memberships.exclude(role__in=CONTRIBUTORS).exists()


def person_with_link(project: Project, membership_id: int) -> User:
    """Return the member of `project` who begins with a personal link, also if it has ended. Raises Http404."""
    of_links = project.memberships.select_related("user").filter(user__personal_link__isnull=False)
    return get_object_or_404(of_links, pk=membership_id).user


def lacks_second_factor(user: User | AnonymousUser) -> bool:
    """Return whether `user` must set up a second factor first: staff and managers, if the settings require it."""
    if not settings.SECOND_FACTOR_REQUIRED or not user.is_authenticated:
        return False
    may_manage = user.is_staff or user.is_superuser
    has_to = may_manage or Membership.objects.filter(user=user.pk, role=Role.MANAGER).exists()
    return has_to and not Authenticator.objects.filter(user=user.pk, type__in=SECOND_FACTORS).exists()


def may_start_projects(user: User | AnonymousUser) -> bool:
    # Only staff can have the permission, so everybody else costs no query.
    return user.is_staff and user.has_perm("people.add_project")
