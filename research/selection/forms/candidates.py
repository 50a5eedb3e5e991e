"""What managers send to import candidates."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.people.forms.fields import NameCharField
from core.people.models import Project
from research.selection.models import CandidateList
from research.selection.services.candidates import slug_of


class CandidatesForm(forms.Form):
    """A file of candidates."""

    file = forms.FileField(
        label=_("File"), allow_empty_file=True, help_text=_("CSV in UTF-8, also packed by gzip (.csv.gz).")
    )
    name = NameCharField(label=_("Name"), max_length=CandidateList._meta.get_field("name").max_length)
    allow_no_licence = forms.BooleanField(
        label=_("Keep candidates without a licence, too"),
        required=False,
        help_text=_("You can publish a dataset only of images whose licence you know."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if CandidateList.objects.filter(project=self.project, slug=slug_of(name)).exists():
            raise forms.ValidationError(gettext("The project already has a list with this name. Choose another name."))
        return name
