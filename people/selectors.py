"""Page-shaped reads about people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Prefetch, Q, QuerySet, prefetch_related_objects

from people import defaults, rules
from people.models import (
    Consent,
    ConsentText,
    Delivery,
    DeliveryState,
    Invitation,
    LanguageSkill,
    Membership,
    Project,
    Role,
    User,
    Webhook,
    WebhookEvent,
)
from people.rules import InvitationState, needs_consent


def roles_of(user: User) -> set[str]:
    """The roles of `user` over all projects."""
    return set(Membership.objects.filter(user=user).values_list("role", flat=True))


def roles_by_project(user: User, projects: Iterable[Project]) -> dict[int, list[str]]:
    """The roles of `user` in each of `projects`, in the order of their names."""
    roles = defaultdict(list)
    held = Membership.objects.filter(user=user, project__in=list(projects)).order_by("role")
    for project_id, role in held.values_list("project", "role"):
        roles[project_id].append(role)
    return roles


@dataclass(frozen=True)
class OwnProject:
    """A project of somebody, their roles in it, and how they stand to its consent text."""

    project: Project
    roles: list[str]
    newest: int | None
    given: int | None
    given_at: datetime | None
    is_due: bool


def own_projects(user: User) -> list[OwnProject]:
    memberships = defaultdict(list)
    for membership in Membership.objects.filter(user=user).select_related("project").order_by("project__name", "role"):
        memberships[membership.project].append(Role(membership.role))
    # Who has left may still have an agreement to take back.
    standing = Consent.objects.filter(user=user, withdrawn_at=None).select_related("text__project")
    for consent in standing.order_by("text__project__name"):
        memberships.setdefault(consent.text.project, [])
    newest = _newest_versions(list(memberships))
    given = {
        consent.text.project_id: consent
        for consent in Consent.objects.filter(user=user, withdrawn_at=None, text__project__in=memberships)
        .select_related("text")
        .order_by("text__version")
    }
    return [
        _own_project(project, roles, newest.get(project.pk), given.get(project.pk))
        for project, roles in memberships.items()
    ]


def _own_project(project: Project, roles: list[Role], newest: int | None, consent: Consent | None) -> OwnProject:
    version = consent.text.version if consent else None
    return OwnProject(
        project=project,
        roles=[str(role.label) for role in roles],
        newest=newest,
        given=version,
        given_at=consent.given_at if consent else None,
        is_due=any(needs_consent(role) for role in roles) and newest is not None and version != newest,
    )


def _newest_versions(projects: list[Project]) -> dict[int, int]:
    texts = ConsentText.objects.filter(project__in=projects).order_by("version")
    return dict(texts.values_list("project", "version"))


def newest_consent_text(project: Project) -> ConsentText | None:
    return project.consent_texts.order_by("-version").first()


def has_gaps(text: ConsentText | None) -> bool:
    """Whether something of the default text still waits to be filled in by a manager."""
    return text is not None and defaults.GAP in text.body


def has_consented(user: User, text: ConsentText) -> bool:
    return Consent.objects.filter(user=user, text=text, withdrawn_at=None).exists()


MEMBERS_PER_PAGE = 100
"""A game that is open to everybody makes many members."""


@dataclass(frozen=True)
class RoleHeld:
    pk: int
    label: str


@dataclass(frozen=True)
class Member:
    """Somebody in a project, as its managers see them. `consent` is the newest version they agreed to."""

    user: User
    roles: list[RoleHeld]
    skills: list[LanguageSkill]
    consent: int | None
    is_consent_due: bool


def members_of(project: Project, asked: str | None = None) -> tuple[Page[Any], list[Member]]:
    """A page of the people in `project` by user name, and what it shows, in as many queries however many they are."""
    memberships = Membership.objects.filter(project=project).order_by("role")
    skills = LanguageSkill.objects.select_related("language").order_by("language__english_name")
    people = (
        User.objects.filter(pk__in=Membership.objects.filter(project=project).values("user"))
        .order_by("username")
        .prefetch_related(
            Prefetch("memberships", queryset=memberships, to_attr="here"),
            Prefetch("language_skills", queryset=skills),
        )
    )
    page = Paginator(people, MEMBERS_PER_PAGE).get_page(asked)
    shown = list(page.object_list)
    given = dict(
        Consent.objects.filter(text__project=project, withdrawn_at=None, user__in=shown)
        .order_by("text__version")
        .values_list("user", "text__version")
    )
    newest = _newest_versions([project]).get(project.pk)
    return page, [_member(user, given.get(user.pk), newest) for user in shown]


def _member(user: User, consent: int | None, newest: int | None) -> Member:
    here: list[Membership] = user.here  # type: ignore[attr-defined]
    return Member(
        user=user,
        roles=[RoleHeld(pk=held.pk, label=str(Role(held.role).label)) for held in here],
        skills=list(user.language_skills.all()),
        consent=consent,
        is_consent_due=any(needs_consent(held.role) for held in here) and consent != newest,
    )


def invitation_state(invitation: Invitation, now: datetime) -> InvitationState:
    return rules.invitation_state(
        places=invitation.places,
        places_taken=invitation.places_taken,
        expires_at=invitation.expires_at,
        revoked_at=invitation.revoked_at,
        now=now,
    )


NAMED = 50
"""So many of those who came by one invitation are listed."""


@dataclass(frozen=True)
class InvitationRow:
    invitation: Invitation
    role: str
    languages: list[str]
    state: InvitationState
    used_by: list[str]

    @property
    def is_open(self) -> bool:
        return self.state is InvitationState.OPEN


def invitations_of(project: Project, now: datetime) -> list[InvitationRow]:
    """All invitations into `project`, the latest first. Of a door that is open to everybody only some are named."""
    found = list(project.invitations.order_by("-created_at", "-pk").prefetch_related("languages"))
    prefetch_related_objects([each for each in found if each.places_taken <= NAMED], "uses__user")
    return [
        InvitationRow(
            invitation=invitation,
            role=str(Role(invitation.role).label),
            languages=[language.name for language in invitation.languages.all()],
            state=invitation_state(invitation, now),
            used_by=_names(invitation),
        )
        for invitation in found
    ]


def _names(invitation: Invitation) -> list[str]:
    if invitation.places_taken <= NAMED:
        return [use.user.username for use in invitation.uses.all()]
    latest = invitation.uses.order_by("-pk").values_list("user__username", flat=True)[:NAMED]
    return [*latest, "…"]


def managers_of(project: Project) -> list[User]:
    """Whom to write to about `project`."""
    managing = Membership.objects.filter(project=project, role=Role.MANAGER)
    return list(User.objects.filter(memberships__in=managing).order_by("username"))


DELIVERIES_PER_PAGE = 50


def webhooks_of(project: Project) -> QuerySet[Webhook]:
    """With `failed` and `waiting`, how many deliveries have not arrived."""
    state = "deliveries__state"
    return project.webhooks.annotate(
        failed=Count("deliveries", filter=Q(**{state: DeliveryState.FAILED})),
        waiting=Count("deliveries", filter=Q(**{state: DeliveryState.WAITING})),
    ).order_by("-is_active", "pk")


def events_of(webhook: Webhook) -> list[str]:
    """What it is told of, as pages call it."""
    return [str(event.label) for event in WebhookEvent if event.value in webhook.events]


def deliveries_of(webhook: Webhook, number: str | None) -> Page[Delivery]:
    """A page of them, the newest first."""
    return Paginator(webhook.deliveries.order_by("-pk"), DELIVERIES_PER_PAGE).get_page(number)


def managed_by_nobody_else(user: User) -> list[Project]:
    """The projects that would be without a manager were `user` gone."""
    managing = Membership.objects.filter(role=Role.MANAGER)
    found = Project.objects.filter(pk__in=managing.filter(user=user).values("project"))
    return list(found.exclude(pk__in=managing.exclude(user=user).values("project")))
