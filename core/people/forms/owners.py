"""The choice of an owner, as part of forms that make something and as a form of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.people.models import Owned, Project, Role, User
from core.people.permissions import manages_anything, may_start_projects, usable_in
from core.people.services.ownership import not_usable, projects_to_own

OWNER_FIELDS = ("project", "is_shared")


class OwnerForm(forms.Form):
    """Mixed into a form that makes something which a project owns, from `parts` that have owners themselves."""

    made_of: tuple[str, ...] = ()
    """Fields with a choice of such parts. Unless a project is chosen, the new thing goes where they are."""

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
        field.empty_label = self._no_project() if self.may_be_none else gettext("Choose…")
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
        if cleaned.get("project") is None:
            cleaned["project"] = self._project_of(self.parts_in(cleaned))
        if cleaned["project"] is None and not self.may_be_none:
            cleaned["project"] = self.only_project
            if self.only_project is None:
                self.add_error("project", self._nothing_to_choose())
        if cleaned["is_shared"] and not _may_share(self.by, cleaned["project"]):
            self.add_error("is_shared", gettext("Only managers of its project can share it with all."))
        return cleaned

    def parts_in(self, cleaned: dict[str, Any]) -> list[Owned]:
        """Return the parts that were chosen."""
        return [part for name in self.made_of if (part := cleaned.get(name)) is not None]

    def _project_of(self, parts: Sequence[Owned]) -> Project | None:
        """Return the project of parts that are not shared, if it is one and may be chosen."""
        owners = {part.project for part in parts if part.project is not None and not part.is_shared}
        choices: Any = self.fields["project"]
        return choices.queryset.filter(pk=owners.pop().pk).first() if len(owners) == 1 else None

    def _no_project(self) -> str:
        if self.made_of:
            return gettext("as above, or none (only you see it)")
        return gettext("none (only you see it)")

    def _nothing_to_choose(self) -> str:
        if self.parts and not self.fields["project"].queryset.exists():  # type: ignore[attr-defined]
            owners = ", ".join(f"“{part}” ({part.project})" for part in self.parts if part.project is not None)
            return gettext("These belong to different projects: %(owners)s. Share one of them with all first.") % {
                "owners": owners
            }
        return gettext("Choose the project that it belongs to.")

    def check_usable(self, cleaned: dict[str, Any], *names: str) -> None:
        """Add an error to the fields whose choice neither belongs to the chosen project nor is shared as widely."""
        for name in names:
            part = cleaned.get(name)
            if part is None or "project" in self.errors:
                continue
            usable = type(part)._default_manager.filter(usable_in(cleaned["project"], by=self.by))
            if not usable.filter(pk=part.pk).exists():
                self.add_error(name, not_usable(part, cleaned["project"]))
            elif cleaned["is_shared"] and not part.is_shared:
                text = gettext("“%(name)s” is not shared with all, so what uses it cannot be shared with all either.")
                self.add_error(name, text % {"name": part})

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
