"""The members of a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch

from core.people.models import Consent, LanguageSkill, Membership, Project, User
from core.people.rules.roles import needs_consent
from core.people.selectors.projects import _newest_versions

MEMBERS_PER_PAGE = 100
"""A game that is open to everybody makes many members."""


@dataclass(frozen=True)
class ProjectMember:
    """A member as the project's managers see them. `consent` is the newest version they agreed to."""

    user: User
    memberships: list[Membership]
    skills: list[LanguageSkill]
    consent: int | None
    is_consent_due: bool


def members_of(project: Project, asked: str | None = None) -> tuple[Page[Any], list[ProjectMember]]:
    """Return a page of the people in `project` by user name, in a fixed number of queries."""
    memberships = Membership.objects.filter(project=project).order_by("role")
    skills = LanguageSkill.objects.select_related("language").order_by("language__english_name")
    people = (
        User.objects.filter(pk__in=Membership.objects.filter(project=project).values("user"))
        .order_by("username")
        .prefetch_related(
            Prefetch("memberships", queryset=memberships, to_attr="here"), Prefetch("language_skills", queryset=skills)
        )
    )
    page = Paginator(people, MEMBERS_PER_PAGE).get_page(asked)
    shown = list(page.object_list)
    consents = dict(
        Consent.objects.filter(text__project=project, withdrawn_at=None, user__in=shown)
        .order_by("text__version")
        .values_list("user", "text__version")
    )
    newest = _newest_versions([project]).get(project.pk)
    return page, [_member(user, consents.get(user.pk), newest) for user in shown]


def _member(user: User, consent: int | None, newest: int | None) -> ProjectMember:
    here: list[Membership] = user.here  # type: ignore[attr-defined]
    return ProjectMember(
        user=user,
        memberships=here,
        skills=list(user.language_skills.all()),
        consent=consent,
        is_consent_due=any(needs_consent(membership.role) for membership in here) and consent != newest,
    )
