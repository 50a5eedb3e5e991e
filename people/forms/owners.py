"""The choice of an owner, as part of forms that make something and as a form of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from people.models import Owned, Project, Role, User
from people.permissions import manages_anything, may_start_projects, usable_in
from people.services.ownership import projects_to_own

OWNER_FIELDS = ("project", "is_shared")


def usable(kind: type[Owned], project: Project | None, by: User) -> Any:
    return kind._default_manager.filter(usable_in(project, by=by))


class OwnerForm(forms.Form):
    """Mixed into a form that makes something which a project owns, from `parts` that have owners themselves."""

    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=_("Project"),
        required=False,
        help_text=_("Only the project’s managers and researchers see it unless it is shared."),
    )
    is_shared = forms.BooleanField(
        label=_("Shared with all"),
        required=False,
        help_text=_(
            "Managers and researchers of every project can use it. The managers of its own project decide this."
        ),
    )

    def __init__(self, *args: Any, by: User, parts: Sequence[Owned] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by, self.parts = by, [part for part in parts if not part.is_shared]
        projects = list(_projects(by, self.parts))
        field: Any = self.fields["project"]
        field.queryset = Project.objects.filter(pk__in=[project.pk for project in projects])
        # People who cannot start a project have no future one in mind.
        self.may_be_none = manages_anything(by) and all(part.project_id is None for part in self.parts)
        field.empty_label = gettext("none (only you see it)") if self.may_be_none else gettext("Choose…")
        self.only_project = projects[0] if len(projects) == 1 else None
        if self.only_project is not None:
            field.initial = self.only_project
            if not self.may_be_none:
                field.empty_label = None
        if self.parts or not (may_start_projects(by) or projects_to_own(by, Role.MANAGER).exists()):
            del self.fields["is_shared"]
        self.put_owner_last()

    def put_owner_last(self) -> None:
        """Update the choices; call it after adding fields."""
        owner = {name: self.fields.pop(name) for name in OWNER_FIELDS if name in self.fields}
        self.fields |= owner

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        cleaned.setdefault("is_shared", False)
        if "project" in self.errors:
            return cleaned
        if cleaned.get("project") is None and not self.may_be_none:
            cleaned["project"] = self.only_project
            if self.only_project is None:
                self.add_error("project", self._nothing_to_choose())
        if cleaned["is_shared"] and not _may_share(self.by, cleaned["project"]):
            self.add_error("is_shared", gettext("Only managers of its project can share it with all."))
        return cleaned

    def _nothing_to_choose(self) -> str:
        if self.parts and not self.fields["project"].queryset.exists():  # type: ignore[attr-defined]
            return gettext("Its parts belong to different projects. Share one of them with all first.")
        return gettext("Choose the project that it belongs to.")

    def check_usable(self, cleaned: dict[str, Any], *names: str) -> None:
        """Add an error to the fields whose choice neither belongs to the chosen project nor is shared as widely."""
        for name in names:
            part = cleaned.get(name)
            if part is None or "project" in self.errors:
                continue
            if not usable(type(part), cleaned["project"], self.by).filter(pk=part.pk).exists():
                self.add_error(name, gettext("This belongs to a different project from the one you chose."))
            elif cleaned["is_shared"] and not part.is_shared:
                self.add_error(
                    name, gettext("This is not shared with all, so whatever uses it cannot be shared with all either.")
                )

    def owner_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in OWNER_FIELDS if name in self.fields]


class ChangeOwnerForm(forms.Form):
    """Giving something to another project, and sharing it."""

    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=_("Project"),
        help_text=_("Choose a project that you manage. Only its managers and researchers see it unless it is shared."),
    )
    is_shared = OwnerForm.base_fields["is_shared"]

    def __init__(self, data: Mapping[str, Any] | None = None, *, thing: Owned, by: User) -> None:
        super().__init__(data, initial={"project": thing.project_id, "is_shared": thing.is_shared})
        field: Any = self.fields["project"]
        field.queryset = projects_to_own(by, Role.MANAGER)
        field.empty_label = gettext("none") if thing.project_id is None else None
        self.by, self.thing = by, thing
        field.required = not may_start_projects(by) and thing.project_id is not None
        if may_start_projects(by):
            field.empty_label = gettext("none")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("is_shared") and not _may_share(self.by, cleaned.get("project")):
            self.add_error("is_shared", gettext("Only managers of its project can share it with all."))
        return cleaned


def _projects(by: User, parts: Sequence[Owned]) -> Any:
    """Return projects that may own what is made of `parts`, which are not shared."""
    projects = projects_to_own(by)
    for part in parts:
        projects = projects.filter(pk=part.project_id) if part.project_id is not None else projects.none()
    return projects


def _may_share(by: User, project: Project | None) -> bool:
    if may_start_projects(by):
        return True
    return project is not None and projects_to_own(by, Role.MANAGER).filter(pk=project.pk).exists()
