"""Projects as pages show them: who is in them, what people begin with and could add, and their webhooks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Prefetch, Q, QuerySet

from core.people.models import (
    Consent,
    ConsentText,
    DeliveryState,
    LanguageSkill,
    Membership,
    Owned,
    Project,
    ProjectDeletion,
    Role,
    User,
    Webhook,
)
from core.people.permissions import may_start_projects, usable_in
from core.people.rules.consent_parts import covers
from core.people.rules.roles import home_of, needs_consent


def roles_of(user: User) -> set[str]:
    """Return the roles of `user` over all projects."""
    return set(Membership.objects.filter(user=user).values_list("role", flat=True))


def named_roles_of(user: User) -> list[tuple[str, str, str, datetime | None]]:
    """Return each role of `user`, with the short name and the name of its project, and since when it is archived."""
    of_project = ("project__slug", "project__name", "project__archived_at")
    return list(Membership.objects.filter(user=user).values_list("role", *of_project))


def roles_by_project(user: User, projects: Iterable[Project]) -> dict[int, list[str]]:
    """Return the roles of `user` in each of `projects`, in the order of their names."""
    roles = defaultdict(list)
    memberships = Membership.objects.filter(user=user, project__in=list(projects)).order_by("role")
    for project_id, role in memberships.values_list("project", "role"):
        roles[project_id].append(role)
    return roles


def projects_of(user: User) -> QuerySet[Project]:
    """Return the projects that `user` is in or ever agreed to the text of, archived ones too."""
    return Project.objects.filter(
        pk__in=Project.objects.filter(Q(memberships__user=user) | Q(consent_texts__consents__user=user)).values("pk")
    ).order_by("pk")


def own_projects(user: User) -> list[dict[str, Any]]:
    """Describe the projects of somebody, their roles in each, and whether they agreed to its consent text."""
    memberships = defaultdict(list)
    for membership in Membership.objects.filter(user=user).select_related("project").order_by("project__name", "role"):
        memberships[membership.project].append(Role(membership.role))
    # Former members may still have consent to withdraw.
    given = Consent.objects.filter(user=user, withdrawn_at=None).select_related("text__project")
    for consent in given.order_by("text__project__name"):
        memberships.setdefault(consent.text.project, [])
    newest = _newest_versions(list(memberships))
    consents: dict[int, list[Consent]] = defaultdict(list)
    for consent in given.order_by("text__version", "pk"):
        consents[consent.text.project_id].append(consent)
    return [
        _own_project(project, roles, newest.get(project.pk), consents[project.pk])
        for project, roles in memberships.items()
    ]


def _own_project(project: Project, roles: list[Role], newest: int | None, given: list[Consent]) -> dict[str, Any]:
    consent = given[-1] if given else None
    return {
        "project": project,
        "roles": [str(role.label) for role in roles],
        "newest": newest,
        "given": consent.text.version if consent else None,
        "given_at": consent.given_at if consent else None,
        "is_due": newest is not None and _is_due(roles, {one.role for one in given if one.text.version == newest}),
    }


def _is_due(roles: Iterable[str], given: set[str]) -> bool:
    """Return whether somebody with `roles` who agreed as `given` to the newest text has yet to agree for one."""
    return any(needs_consent(role) and not covers(given, role) for role in roles)


def _newest_versions(projects: list[Project]) -> dict[int, int]:
    texts = ConsentText.objects.filter(project__in=projects).order_by("version")
    return dict(texts.values_list("project", "version"))


def deletions_seen_by(user: User) -> QuerySet[ProjectDeletion]:
    """Return the deletions of projects that `user` asked for; all of them for people who may start projects."""
    deletions = ProjectDeletion.objects.select_related("asked_by")
    return deletions if may_start_projects(user) else deletions.filter(asked_by=user)


def managers_of(project: Project) -> list[User]:
    """Return the addresses to write to about `project`."""
    managing = Membership.objects.filter(project=project, role=Role.MANAGER)
    return list(User.objects.filter(memberships__in=managing).order_by("username"))


def managed_by_nobody_else(user: User) -> list[Project]:
    """Return the projects that would have no manager without `user`."""
    managing = Membership.objects.filter(role=Role.MANAGER)
    projects = Project.objects.filter(pk__in=managing.filter(user=user).values("project"))
    return list(projects.exclude(pk__in=managing.exclude(user=user).values("project")))


MEMBERS_PER_PAGE = 100
"""A game that is open to everybody makes many members."""


def members_of(project: Project, asked: str | None = None) -> tuple[Page[Any], list[dict[str, Any]]]:
    """Return a page of the people in `project` by user name, in a fixed number of queries.

    `consent` of each is the newest version that they agreed to.
    """
    memberships = Membership.objects.filter(project=project).order_by("role")
    skills = LanguageSkill.objects.select_related("language").order_by("language__english_name")
    people = (
        User.objects.filter(pk__in=Membership.objects.filter(project=project).values("user"))
        .select_related("personal_link")
        .order_by("username")
        .prefetch_related(
            Prefetch("memberships", queryset=memberships, to_attr="here"), Prefetch("language_skills", queryset=skills)
        )
    )
    page = Paginator(people, MEMBERS_PER_PAGE).get_page(asked)
    shown = list(page.object_list)
    given = Consent.objects.filter(text__project=project, withdrawn_at=None, user__in=shown).order_by("text__version")
    consents: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for person, version, role in given.values_list("user", "text__version", "role"):
        consents[person].append((version, role))
    newest = _newest_versions([project]).get(project.pk)
    return page, [_member(user, consents[user.pk], newest) for user in shown]


def _member(user: User, given: list[tuple[int, str]], newest: int | None) -> dict[str, Any]:
    here: list[Membership] = user.here  # type: ignore[attr-defined]
    agreed = {role for version, role in given if version == newest}
    return {
        "user": user,
        "memberships": here,
        "skills": user.language_skills.all(),
        "consent": given[-1][0] if given else None,
        "agreed_as": agreed,
        "is_consent_due": newest is not None and _is_due((membership.role for membership in here), agreed),
    }


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


HasWork = Callable[[User, datetime], bool]
_pages_of_raters: dict[str, HasWork] = {}


def register_for_raters(address: str, has_work: HasWork) -> None:
    """Register the name of a page with work for raters; call it when the app is ready.

    They have two, in apps that do not know each other, so each registers whether there is anything on its own.
    """
    _pages_of_raters[address] = has_work


def start_page(user: User, roles: Collection[str], *, may_start_projects: bool = False, now: datetime) -> str | None:
    """Return the name of the page for somebody with `roles`; None if there is none yet."""
    home = home_of(roles, may_start_projects=may_start_projects)
    if home == home_of({Role.RATER}, may_start_projects=False):
        return next((page for page, has_work in _pages_of_raters.items() if has_work(user, now)), home)
    return home


def webhooks_of(project: Project) -> QuerySet[Webhook]:
    """List webhooks with `failed` and `waiting`, how many deliveries have not arrived."""
    state = "deliveries__state"
    return project.webhooks.annotate(
        failed=Count("deliveries", filter=Q(**{state: DeliveryState.FAILED})),
        waiting=Count("deliveries", filter=Q(**{state: DeliveryState.WAITING})),
    ).order_by("-is_active", "pk")
