"""Forms of projects and collections as a whole, and of which e-mails somebody wants."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.rules.campaign import UnfinishedBatches
from core.images.models import CollectionImage
from core.people.forms.fields import NameCharField
from core.people.models import Project
from crosslens_metrics.formats.names import normalised_name
from office.dashboard.formats.campaign_file import MAX_BYTES
from office.dashboard.models import EmailChoices
from office.dashboard.selectors.choices import KINDS_OF_WORK


class NameForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Project
        fields = ("name", "description")
        field_classes = {"name": NameCharField}  # noqa: RUF012
        labels = {"name": _("Name"), "description": _("Description")}  # noqa: RUF012 Django reads it
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}  # noqa: RUF012


class CopyForm(forms.Form):
    name = NameCharField(label=_("Name of the new project"), max_length=120)


class CampaignForm(forms.Form):
    """A campaign file, or its text: what was looked at is what is applied."""

    file = forms.FileField(label=_("Campaign file"), required=False, widget=forms.FileInput(attrs={"accept": ".toml"}))
    text = forms.CharField(
        label=_("Or its text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "dir": "ltr"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if file := cleaned.get("file"):
            try:
                cleaned["text"] = file.read(MAX_BYTES + 1).decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", gettext("The file is not UTF-8. Save it as UTF-8."))
        elif not cleaned.get("text"):
            self.add_error("file", gettext("Choose a file, or paste its text."))
        return cleaned


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


MAX_REASON_CHARACTERS = CollectionImage._meta.get_field("exclusion_reason").max_length


class LeaveOutForm(forms.Form):
    """Why an image is left out of results."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_CHARACTERS,
        help_text=_("Managers and researchers who may see the collection can read it."),
    )


class EmailChoicesForm(forms.ModelForm):  # type: ignore[type-arg]
    """Only what concerns the person: those who annotate or rate, managers and researchers, or both."""

    class Meta:
        model = EmailChoices
        fields = (*[kind.value for kind in KINDS_OF_WORK], "digest")

    def __init__(self, *args: Any, works: bool, manages: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not works:
            for kind in KINDS_OF_WORK:
                del self.fields[kind.value]
        if not manages:
            del self.fields["digest"]
