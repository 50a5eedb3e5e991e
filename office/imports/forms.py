"""Files to import, and what somebody says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from core.images.forms import MAX_NAME_CHARACTERS, SeveralFilesField, SeveralFilesForm, UsableCollectionField
from core.images.models import ImportJob
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.models import Project, Role, User
from core.people.permissions import has_role
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS, REFERENCES
from crosslens_metrics.formats.table_parts import PARTS, FileKind, kind_of_parts
from gapgame.rules.item_sources import CHOICE_LIMITS, ItemChoice
from office.imports.services.file_imports import COLUMNS, GAPS, PREVIEW, TABLES, WISH
from office.imports.services.previews import CORPUS
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.services.references import MAX_NAME_CHARACTERS as MAX_REFERENCES_NAME_CHARACTERS

DRAWN = {
    "least": _("Languages that share the sense, at least"),
    "per_word": _("Sentences of each word, at most"),
    "most": _("Sentences in all, at most"),
    "seed": _("Seed: the same one draws the same sentences"),
}
KINDS = (
    (REFERENCES, _("Captions that people wrote: references")),
    (CAPTIONS_BY_PEOPLE, _("Captions that people wrote: an accepted round of this project for each language")),
    (MODEL_CAPTIONS, _("Captions by a model")),
)
COLUMN_LABELS = {
    "image": _("Column with the names of the images"),
    "caption": _("Column with the captions"),
    "language": _("Column with the languages"),
    "model": _("Column with the models"),
}
TABLES_OF = [
    (FileKind.CAPTIONS, _("Captions")),
    (FileKind.JUDGEMENTS, _("Judgements")),
    (FileKind.IMAGES, _("Images")),
    (FileKind.GAP_ITEMS, _("Sentences with a gap")),
]


class _BeginningForm(forms.Form):
    """Languages that begin once the files are in; only for managers of a project that has none yet."""

    languages = forms.ModelMultipleChoiceField(
        Language.objects.all(),
        label=_("Languages in which people describe the images (optional)"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Each begins with a pilot once the files are imported. Needs English captions by a model among them."
        ),
    )
    places = forms.IntegerField(
        label=_("People in each language (optional)"),
        min_value=1,
        max_value=10_000,
        required=False,
        help_text=_("For each language a link is made by which so many people can join as annotators."),
    )

    def offer_languages(self, project: Project, *, by: User) -> None:
        if project.rounds.exists() or not has_role(by, project, Role.MANAGER):
            del self.fields["languages"], self.fields["places"]

    def beginning(self) -> dict[str, Any]:
        languages, places = self.cleaned_data.get("languages", ()), self.cleaned_data.get("places")
        return {"languages": [one.tag for one in languages], "places": places} if languages else {}


class UploadForm(_BeginningForm, SeveralFilesForm):
    images = SeveralFilesField(
        label=_("Files"),
        help_text=_(
            "Images, captions by models and by people, judgements, sentences for the game: folders, zip files, CSV, "
            "Excel, JSON, Parquet, COCO, Flickr30k, Hugging Face, Label Studio and others. You see a preview before "
            "anything is imported."
        ),
    )
    collection = UsableCollectionField(
        required=False, empty_label=_("any"), help_text=_("In which the images of the captions are.")
    )

    name = NameCharField(max_length=MAX_REFERENCES_NAME_CHARACTERS, required=False, widget=forms.HiddenInput)
    field_order = ("images", "collection", "languages", "places")

    def __init__(self, *args: Any, project: Project, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        field: Any = self.fields["collection"]
        field.offer(project, by=by)
        self.offer_languages(project, by=by)
        some = list(field.queryset[:2])
        if not some:
            del self.fields["collection"]
        elif "collection" not in self.initial and len(some) == 1:
            self.initial["collection"] = some[0].slug

    def wish(self) -> dict[str, Any]:
        """What to import with; images of a project that begins with them make a collection of its name."""
        chosen, name = self.cleaned_data.get("collection"), self.cleaned_data["name"]
        wish = {"collection": chosen.slug if chosen else "", "name": name} | self.beginning()
        wish["new_collection"] = self.project.name if self.beginning() and not chosen else ""
        return {name: value for name, value in wish.items() if value}


class WishForm(_BeginningForm):
    """What the files do not say themselves; empty where they do."""

    kind = forms.ChoiceField(
        label=_("What the captions are"), choices=[("", _("as the file says")), *KINDS], required=False
    )
    model = NameCharField(
        label=_("Model"),
        max_length=MAX_MODEL_NAME_CHARACTERS,
        required=False,
        help_text=_("Whose captions they are, whatever the file calls it. A new model is created if there is none."),
    )
    language = forms.ModelChoiceField(
        Language.objects.all(), label=_("Language of the captions"), required=False, empty_label=_("as the file says")
    )
    collection = UsableCollectionField(required=False, empty_label=_("any"))
    new_collection = NameCharField(
        label=_("New collection"),
        max_length=MAX_NAME_CHARACTERS,
        required=False,
        help_text=_("Its name, if the images are to go into a new one."),
    )
    name = NameCharField(
        label=_("Name of the references, the set of sentences or the list of candidates"),
        max_length=MAX_REFERENCES_NAME_CHARACTERS,
        required=False,
        help_text=_("If references of this name exist in the language, the file replaces those of its images."),
    )
    is_translated = forms.BooleanField(
        label=_("The references were translated from English"),
        required=False,
        help_text=_("WMDRel is computed only against references that were translated from English."),
    )
    allows_no_licence = forms.BooleanField(
        label=_("Keep candidates without a licence, too"),
        required=False,
        help_text=_("You can publish a dataset only of images whose licence you know."),
    )
    source = forms.CharField(
        label=_("Source"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Where the captions or judgements come from, and under which licence."),
    )

    def __init__(self, data: Any = None, *, job: ImportJob, by: User) -> None:
        assert job.project is not None
        wish: Mapping[str, Any] = job.options[WISH]
        said = wish.get("said", {})
        super().__init__(data, initial={**wish, **{f"column_{part}": name for part, name in said.items()}})
        field: Any = self.fields["collection"]
        field.offer(job.project, by=by)
        self.offer_languages(job.project, by=by)
        self.columns: Sequence[str] = job.options.get(COLUMNS, [])
        self._was, self._guess = wish, _table_of(said, job)
        self._table = wish.get("table") or self._guess
        if self.columns:
            self.fields["table"] = forms.ChoiceField(
                label=_("What the table holds"), choices=TABLES_OF, initial=self._table, required=False
            )
        for part in PARTS[self._table] if self.columns else ():
            choices = [("", _("as the file says")), *((name, name) for name in self.columns)]
            label = COLUMN_LABELS.get(part, format_lazy(_("Column with “{part}”"), part=part))
            self.fields[f"column_{part}"] = forms.ChoiceField(label=label, choices=choices, required=False)
        previewed = job.options.get(PREVIEW, [])
        if not any(one["kind"] == FileKind.CANDIDATES for one in previewed):
            del self.fields["allows_no_licence"]
        asked = {part for part, _text in job.options.get(GAPS, [])}
        if any(one["format"] == CORPUS for one in previewed):
            self._offer_choice()
            asked.update(DRAWN)
        if "kind" in asked:
            asked.add("model")
        if "collection" in asked:
            asked.add("new_collection")
        self.asked_parts = asked
        self.asked = [
            self[name]
            for name in self.fields
            if name in asked or ("map" in asked and (name == "table" or "column" in name))
        ]
        self.others = [self[name] for name in self.fields if self[name] not in self.asked]

    def _offer_choice(self) -> None:
        """Ask which sentences of a corpus are drawn."""
        for part, label in DRAWN.items():
            least, most = CHOICE_LIMITS[part]
            usual = getattr(ItemChoice, part)
            self.fields[part] = forms.IntegerField(label=label, min_value=least, max_value=most, initial=usual)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("collection") and cleaned.get("new_collection"):
            self.add_error("new_collection", _("Choose a collection, or name a new one, but not both."))
        return cleaned

    def wish(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        said = ("kind", "model", "new_collection", "name", "is_translated", "source", "allows_no_licence")
        wish = {name: cleaned.get(name) for name in said}
        wish["language"] = cleaned["language"].tag if cleaned["language"] else ""
        wish["collection"] = cleaned["collection"].slug if cleaned["collection"] else ""
        wish |= self.beginning()
        wish |= self._columns_said(cleaned.get("table", ""))
        drawn = {
            part: cleaned[part] for part in DRAWN if cleaned.get(part, usual := getattr(ItemChoice, part)) != usual
        }
        return {name: value for name, value in wish.items() if value} | drawn

    def _columns_said(self, table: str) -> dict[str, Any]:
        """Which column has what: for the table that was shown as it was answered, for others as before."""
        asked = PARTS[self._table] if self.columns else ()
        given = {part: name for part in asked if (name := self.cleaned_data.get(f"column_{part}"))}
        if table and table != self._table:
            given = {part: name for part, name in given.items() if part in PARTS[table]}
        before = {part: name for part, name in self._was.get("said", {}).items() if part not in asked}
        is_news = table not in ("", self._guess) or table == self._was.get("table")
        return {"said": before | given, "table": table if is_news else ""}


def _table_of(said: Mapping[str, str], job: ImportJob) -> str:
    """The kind of table whose columns are asked for, unless somebody chooses another."""
    shown = next((table["kind"] for table in job.options.get(TABLES, [])), "")
    return kind_of_parts(set(said)) or (shown if shown in PARTS else FileKind.CAPTIONS)
