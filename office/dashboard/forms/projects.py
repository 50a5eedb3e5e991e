"""Forms about a project as a whole."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.rules.campaign import UnfinishedBatches
from core.people.forms.fields import NameCharField
from core.people.models import Project
from crosslens_metrics.formats.names import normalised_name


class NameForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Project
        fields = ("name", "description")
        field_classes = {"name": NameCharField}  # noqa: RUF012
        labels = {"name": _("Name"), "description": _("Description")}  # noqa: RUF012 Django reads it
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}  # noqa: RUF012


class CopyForm(forms.Form):
    name = NameCharField(label=_("Name of the new project"), max_length=120)


class ArchiveForm(forms.Form):
    """What happens to unfinished batches; nothing is asked where there are none."""

    assigned = forms.ChoiceField(
        label=_("Unfinished batches"), choices=UnfinishedBatches.choices, widget=forms.RadioSelect
    )

    def __init__(self, *args: Any, batches: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not batches:
            del self.fields["assigned"]

    def choice(self) -> UnfinishedBatches | None:
        return UnfinishedBatches(self.cleaned_data["assigned"]) if "assigned" in self.fields else None


class DeleteForm(forms.Form):
    """The name of the project, typed, and another tick where releases would be lost."""

    name = NameCharField(
        label=_("Name of the project"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
    loses_releases = forms.BooleanField(label=_("Delete its releases too. Their addresses stop working."))

    def __init__(self, *args: Any, project: Project, releases: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.fields["name"].help_text = gettext("Type “%(name)s” to confirm.") % {"name": project.name}
        if not releases:
            del self.fields["loses_releases"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != normalised_name(self.project.name):
            raise forms.ValidationError(
                gettext("This is not the name of the project. Type “%(name)s”.") % {"name": self.project.name}
            )
        return name
