"""Context of every page about the person looking at it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils.functional import cached_property

from core.people.models import Role, User
from core.people.pages import ProjectNavigation, RolesIn
from core.people.permissions import READERS, may_start_projects
from core.people.selectors.projects import named_roles_of, own_projects
from core.people.services.ownership import projects_to_own


class RolePages:
    """The pages that somebody's roles, over all projects, lead to; one query, and only if a template asks."""

    def __init__(self, user: User | AnonymousUser) -> None:
        self.user = user

    @cached_property
    def _named_roles(self) -> list[tuple[str, str, str, datetime | None]]:
        return named_roles_of(self.user) if self.user.is_authenticated else []

    @cached_property
    def _roles(self) -> set[str]:
        return {role for role, *_of_project in self._named_roles}

    def in_project(self, slug: str) -> RolesIn:
        """Return the name of a project and the roles in it; nothing without a role."""
        found = [(name, archived_at, role) for role, of, name, archived_at in self._named_roles if of == slug]
        name, archived_at, _role = found[0] if found else ("", None, "")
        return RolesIn(name, archived_at, {role for *_of_project, role in found})

    @property
    def manages(self) -> bool:
        return Role.MANAGER in self._roles or (self.user.is_authenticated and may_start_projects(self.user))

    @property
    def evaluates(self) -> bool:
        return not self._roles.isdisjoint(READERS)

    @cached_property
    def projects(self) -> set[int]:
        """Roles with access to collections and models."""
        return set(projects_to_own(self.user).values_list("pk", flat=True))

    @cached_property
    def managed(self) -> set[int]:
        """Projects in which the names of people may be seen."""
        return set(projects_to_own(self.user, Role.MANAGER).values_list("pk", flat=True))

    @cached_property
    def own_projects(self) -> list[dict[str, Any]]:
        return own_projects(self.user) if self.user.is_authenticated else []

    @property
    def rates(self) -> bool:
        return Role.RATER in self._roles

    @property
    def plays(self) -> bool:
        return Role.PLAYER in self._roles

    @property
    def annotates(self) -> bool:
        """Shown also to people without any role, so that nobody is without a way."""
        return Role.ANNOTATOR in self._roles or not (self.manages or self.evaluates or self.rates or self.plays)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Add `ways` and `navigation`, evaluated only if a template uses them, so that annotators' pages spend no query."""
    # A request that middleware refuses has no user yet.
    ways = RolePages(getattr(request, "user", None) or AnonymousUser())
    return {"ways": ways, "navigation": ProjectNavigation(request, roles_in=ways.in_project)}
