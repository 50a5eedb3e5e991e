"""Who may: from a user and a slug to the object, or 404. Pages, API and commands all come through here."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.utils.translation import gettext as _

from people.models import Consent, Membership, Project, Role, User


def project_for(user: User | AnonymousUser, slug: str, *roles: Role) -> Project:
    """The project `slug`, if `user` has one of `roles` in it (any role where none is named).

    Raises
    ------
    Http404
        Also where the project exists: an outsider is not told so.
    """
    members = Membership.objects.filter(user=user.pk, project__slug=slug)
    if roles:
        members = members.filter(role__in=roles)
    member = members.select_related("project").first()
    if member is None:
        raise Http404(_("There is no such project among yours."))
    return member.project


def project_consented_to(user: User | AnonymousUser, slug: str) -> Project:
    """A project that `user` is in or has an agreement with: who has left can still take it back.

    Raises
    ------
    Http404
    """
    standing = Consent.objects.filter(user=user.pk, text__project__slug=slug, withdrawn_at=None)
    found = standing.select_related("text__project").first()
    return found.text.project if found else project_for(user, slug)


def has_role(user: User | AnonymousUser, project: Project, *roles: Role) -> bool:
    return Membership.objects.filter(user=user.pk, project=project, role__in=roles).exists()


def manages_anything(user: User | AnonymousUser) -> bool:
    """Whether `user` may see and fill the installation's collections: manages one project or may start one."""
    if not user.is_authenticated:
        return False
    if may_start_projects(user):
        return True
    return Membership.objects.filter(user=user.pk, role=Role.MANAGER).exists()


def lacks_second_factor(user: User | AnonymousUser) -> bool:
    """Whether `user` has to set up a second factor before anything else: staff and managers, where that is required."""
    if not settings.SECOND_FACTOR_REQUIRED or not user.is_authenticated:
        return False
    may_manage = user.is_staff or user.is_superuser
    has_to = may_manage or Membership.objects.filter(user=user.pk, role=Role.MANAGER).exists()
    return has_to and not is_mfa_enabled(user, [Authenticator.Type.TOTP])


def may_start_projects(user: User | AnonymousUser) -> bool:
    # Only staff can have been given the permission, so that everybody else costs no query.
    return user.is_staff and user.has_perm("people.add_project")
