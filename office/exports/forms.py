"""What to export, in which format, and of what part of a project."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.selectors.releases import releases_of
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.models import Project, Role, User
from core.people.permissions import has_role
from core.people.rules.pseudonyms import pseudonym
from gapgame.models import Season
from office.dashboard.pages.images import STATES
from office.dashboard.selectors.images import ImageQuery, ProjectImages
from office.exports.permissions import is_closed, may_export
from office.exports.selectors.tables import IMAGE_FILTERS, RELEASE, ExportWish
from research.selection.pages.image_filters import asked_images
from sxs_eval.models import Comparison

WHATS = {
    "captions": _("Captions that count"),
    "ratings": _("Ratings of captions by reviewers"),
    "model-captions": _("Captions by models"),
    "judgements": _("Judgements of pairs"),
    "scores": _("Scores"),
    "image-scores": _("Scores of each image"),
    "turns": _("Turns of the game"),
    "time": _("Hours and cost, with names"),
    "images": _("Images, with authors and licences"),
    RELEASE: _("Release, with credits and checksums"),
}
FORMATS = {
    "csv": _("CSV"),
    "jsonl": _("JSON Lines"),
    "parquet": _("Parquet"),
    "xlsx": _("Excel"),
    "xm3600": _("Crossmodal-3600 (captions)"),
    "coco": _("COCO captions (captions in one language)"),
    "label-studio": _("Label Studio (captions)"),
    "huggingface": _("Hugging Face, metadata.jsonl (captions)"),
    "huggingface-images": _("Hugging Face, folder of images (captions)"),
    "huggingface-addresses": _("Hugging Face, addresses of images (captions)"),
    "webdataset": _("WebDataset (captions with images)"),
    "archive": _("Archive (release)"),
}


NEW = "new"
"""The release that is yet to be made."""
CLOSED = "images-assigned"
"""The code of the refusal to show others' words about images that are assigned to the person asking."""


class ComparisonField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, comparison: Comparison) -> str:
        models = gettext("%(test)s against %(base)s") % {"test": comparison.test, "base": comparison.base}
        return f"{comparison.pk}: {models}, {comparison.language.name}"


class ExportForm(forms.Form):
    what = forms.ChoiceField(label=_("What"))
    format = forms.ChoiceField(label=_("Format"), choices=list(FORMATS.items()))
    language = forms.ModelMultipleChoiceField(
        Language.objects.none(), label=_("Languages"), required=False, help_text=_("All, unless you choose some.")
    )
    images = forms.ChoiceField(label=_("Images"), required=False)
    comparison = ComparisonField(Comparison.objects.none(), label=_("Comparison"), required=False, empty_label=_("all"))
    season = forms.ModelChoiceField(
        Season.objects.none(), label=_("Game season"), required=False, to_field_name="slug", empty_label="–"
    )
    release = forms.ChoiceField(label=_("Release"), required=False)
    find = forms.CharField(label=_("Name or title"), required=False, max_length=500)
    person = forms.ChoiceField(label=_("Person"), required=False)
    state = forms.ChoiceField(label=_("Captions"), required=False, choices=[("", _("Any number")), *STATES.items()])
    author = forms.CharField(label=_("Author"), required=False, max_length=500)
    licence = forms.CharField(label=_("Licence"), required=False, max_length=500)
    source = forms.CharField(label=_("Source"), required=False, max_length=1000)
    name = NameCharField(
        label=_("Name"), required=False, max_length=150, help_text=_("Only for hours and cost: part of a name.")
    )

    def __init__(self, asked: QueryDict, *, project: Project, by: User, is_sent: bool = True) -> None:
        """Without `is_sent`, what is asked for is only chosen in the form."""
        chosen = asked.dict() | {"language": asked.getlist("language")}
        super().__init__(asked if is_sent else None, initial=chosen)
        self.project, self.by = project, by
        self.authors: dict[str, int] = {}
        self.asked = images = asked_images(asked, project, collections=project.rounds.values("collection"))
        used = [*project.rounds.values_list("language", flat=True)]
        used += project.comparisons.values_list("language", flat=True)
        used += ProjectImages(project).model_captions.values_list("language", flat=True).distinct()
        fields: dict[str, Any] = self.fields
        fields["what"].choices = [one for one in WHATS.items() if may_export(by, project, one[0])]
        fields["language"].queryset = Language.objects.filter(pk__in=used).order_by("english_name")
        fields["images"].choices = images.choices
        fields["comparison"].queryset = project.comparisons.select_related("base", "test", "language").order_by("pk")
        fields["season"].queryset = Season.objects.filter(project=project).order_by("slug")
        numbers = releases_of(project).filter(state=JobState.DONE).values_list("number", flat=True)
        new = [(NEW, _("A new one"))] if has_role(by, project, Role.MANAGER) else []
        fields["release"].choices = [("", _("The newest")), *((str(one), str(one)) for one in numbers), *new]
        if not may_export(by, project, "time"):
            del fields["name"]
        found = {name: fields[name].queryset.exists() for name in ("language", "comparison", "season")}
        found["release"] = numbers.exists() or bool(new)
        for name, is_there in found.items():
            if name not in asked and not is_there:
                del fields[name]
        self._add_authors(asked)
        for name in IMAGE_FILTERS:
            if not asked.get(name):
                del fields[name]

    def _add_authors(self, asked: QueryDict) -> None:
        """Offer people by their pseudonyms, which only managers see beside their names."""
        if not asked.get("person"):
            return
        names = dict(ProjectImages(self.project).authors.values_list("pk", "username"))
        self.authors = {pseudonym(self.project, person): person for person in names}
        has_names = has_role(self.by, self.project, Role.MANAGER)
        said = [(one, names[person] if has_names else one) for one, person in self.authors.items()]
        choices: Any = self.fields["person"]
        choices.choices = [("", _("Anybody")), *said]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.asked.error:
            self.add_error("images", self.asked.error)
        if "what" in cleaned and is_closed(self.by, self.project, cleaned["what"], cleaned.get("comparison")):
            said = _("The file has other people’s captions of images in a batch that is assigned to you. Submit "
                "that batch first, or ask somebody else for the file.")  # fmt: skip
            self.add_error("what", forms.ValidationError(said, code=CLOSED))
        return cleaned

    @property
    def is_of_new_release(self) -> bool:
        return self.cleaned_data["what"] == RELEASE and self.cleaned_data.get("release") == NEW

    def wish(self, *, until: datetime) -> ExportWish:
        sent = self.cleaned_data
        comparison, season = sent.get("comparison"), sent.get("season")
        chosen: dict[str, Any] = {name: sent.get(name, "") for name in IMAGE_FILTERS}
        return ExportWish(
            project=self.project,
            what=sent["what"],
            format=sent["format"],
            until=until,
            images=self.asked.filter,
            languages=[language.pk for language in sent.get("language", ())],
            comparison=comparison and comparison.pk,
            season=season.slug if season else "",
            release=sent.get("release", ""),
            name=sent.get("name", ""),
            query=ImageQuery(**chosen | {"person": self.authors.get(sent.get("person", ""))}),
        )
