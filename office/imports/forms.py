"""Files to import, and what somebody says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.images.forms import MAX_NAME_CHARACTERS, ImagesForm, SeveralFilesField, UsableCollectionField
from core.images.models import ImportJob
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.models import Project, User
from crosslens_metrics.formats.caption_rows import PARTS
from crosslens_metrics.formats.recognition import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS, REFERENCES
from office.imports.services.file_imports import COLUMNS, GAPS, WISH
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.services.references import MAX_NAME_CHARACTERS as MAX_REFERENCES_NAME_CHARACTERS

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


class UploadForm(ImagesForm):
    images = SeveralFilesField(
        label=_("Files"),
        help_text=_(
            "Images, captions by models and by people, sentences for the game: folders, zip files, CSV, Excel, JSON, "
            "Parquet, COCO, Flickr30k, Hugging Face, Label Studio and others. You see a preview before anything is "
            "imported."
        ),
    )
    collection = UsableCollectionField(
        required=False, empty_label=_("any"), help_text=_("In which the images of the captions are.")
    )

    name = NameCharField(max_length=MAX_REFERENCES_NAME_CHARACTERS, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["collection"]
        field.offer(project, by=by)
        if "collection" not in self.initial and len(field.queryset[:2]) == 1:
            self.initial["collection"] = field.queryset[0].slug

    def wish(self) -> dict[str, Any]:
        chosen, name = self.cleaned_data["collection"], self.cleaned_data["name"]
        return ({"collection": chosen.slug} if chosen else {}) | ({"name": name} if name else {})


class WishForm(forms.Form):
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
        label=_("Name of the references, or of the set of sentences"),
        max_length=MAX_REFERENCES_NAME_CHARACTERS,
        required=False,
        help_text=_("If references of this name exist in the language, the file replaces those of its images."),
    )
    is_translated = forms.BooleanField(
        label=_("The references were translated from English"),
        required=False,
        help_text=_("WMDRel is computed only against references that were translated from English."),
    )
    source = forms.CharField(
        label=_("Source"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Where the captions come from, and under which licence."),
    )

    def __init__(self, data: Any = None, *, job: ImportJob, by: User) -> None:
        assert job.project is not None
        wish: Mapping[str, Any] = job.options[WISH]
        said = wish.get("said", {})
        super().__init__(data, initial={**wish, **{f"column_{part}": name for part, name in said.items()}})
        field: Any = self.fields["collection"]
        field.offer(job.project, by=by)
        self.columns: Sequence[str] = job.options.get(COLUMNS, [])
        for part in PARTS if self.columns else ():
            choices = [("", _("as the file says")), *((name, name) for name in self.columns)]
            self.fields[f"column_{part}"] = forms.ChoiceField(
                label=COLUMN_LABELS[part], choices=choices, required=False
            )
        asked = {part for part, _text in job.options.get(GAPS, [])}
        if "kind" in asked:
            asked.add("model")
        if "collection" in asked:
            asked.add("new_collection")
        self.asked_parts = asked
        self.asked = [self[name] for name in self.fields if name in asked or ("map" in asked and "column" in name)]
        self.others = [self[name] for name in self.fields if self[name] not in self.asked]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("collection") and cleaned.get("new_collection"):
            self.add_error("new_collection", _("Choose a collection, or name a new one, but not both."))
        return cleaned

    def wish(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        wish = {name: cleaned[name] for name in ("kind", "model", "new_collection", "name", "is_translated", "source")}
        wish["language"] = cleaned["language"].tag if cleaned["language"] else ""
        wish["collection"] = cleaned["collection"].slug if cleaned["collection"] else ""
        wish["said"] = {part: name for part in PARTS if (name := cleaned.get(f"column_{part}"))}
        return {name: value for name, value in wish.items() if value}
