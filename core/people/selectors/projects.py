"""The projects that people are in, and their managers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from core.people.models import Consent, ConsentText, Membership, Project, ProjectDeletion, Role, User
from core.people.permissions import may_start_projects
from core.people.rules.roles import needs_consent


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


@dataclass(frozen=True)
class OwnProject:
    """A project of somebody, their roles in it, and whether they agreed to its consent text."""

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
    # Former members may still have consent to withdraw.
    given = Consent.objects.filter(user=user, withdrawn_at=None).select_related("text__project")
    for consent in given.order_by("text__project__name"):
        memberships.setdefault(consent.text.project, [])
    newest = _newest_versions(list(memberships))
    consents = {
        consent.text.project_id: consent
        for consent in Consent.objects.filter(user=user, withdrawn_at=None, text__project__in=memberships)
        .select_related("text")
        .order_by("text__version")
    }
    return [
        _own_project(project, roles, newest.get(project.pk), consents.get(project.pk))
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
