"""Forms of models' captions: what the gallery shows, a file of them, and switching one off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OwnerForm
from core.people.models import Owned, User
from core.people.permissions import in_charge
from research.inference.models import CaptioningModel
from research.inference.permissions import models_for
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.selectors.gallery import (
    MAX_MODELS,
    GalleryImagesShown,
    GalleryQuery,
    usual_choice,
    usual_collection,
)
from research.inference.services.captions import why_not_into

MAX_KEY_CHARACTERS = 200
BOXES = {"class": "choices"}


class SwitchOffForm(forms.Form):
    """Why a caption is switched off."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("Managers of its project can read it."))


class CaptionsForm(OwnerForm):
    made_of = ("collection",)

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "JSON Lines, CSV, Excel, COCO results or exports of other tools, with an image and a caption on each line. "
            "It may have several models and languages."
        ),
    )
    model = NameCharField(
        label=_("Model"),
        max_length=MAX_MODEL_NAME_CHARACTERS,
        required=False,
        help_text=_("Whose captions they are; empty if the file says so. A new model is created if there is none."),
    )
    language = forms.ModelChoiceField(
        Language.objects.all(),
        label=_("Language of the captions"),
        required=False,
        empty_label=_("as the file says"),
    )
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        to_field_name="slug",
        label=_("Collection"),
        required=False,
        empty_label=_("any"),
        help_text=_("Where to look for the images. Needed if two collections use the same key for different images."),
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        field: Any = self.fields["collection"]
        field.queryset = collections_to_use(by)
        # PostgreSQL cannot search for a NUL.
        slug = str(self.get_initial_for_field(field, "collection") or "").replace("\0", "")
        chosen = field.queryset.filter(slug=slug, is_shared=False)
        self.fields["project"].initial = chosen.values_list("project", flat=True).first() or self.only_project
        self.fields["project"].help_text = _(
            "The project that owns a new model. Only its managers and researchers see it."
        )

    def parts_in(self, cleaned: dict[str, Any]) -> list[Owned]:
        """Return the collection, or else the model of this name, if only one is the person's to fill."""
        named = CaptioningModel.objects.filter(in_charge(self.by), name=cleaned.get("model", "")).order_by("pk")[:2]
        return super().parts_in(cleaned) or (list(named) if len(named) == 1 else [])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        self.check_usable(cleaned | {"is_shared": False}, "collection")
        name = cleaned["model"]
        if name and (refusal := why_not_into(name, cleaned["project"], by=self.by)):
            self.add_error("model", refusal)
        return cleaned


class GalleryForm(forms.Form):
    """Missing choices are filled in from what exists, of the chosen models if there are any.

    Without a collection there is nothing to show.
    """

    collection = forms.ChoiceField(label=_("Collection"))
    show = forms.ChoiceField(label=_("Images"), choices=GalleryImagesShown.choices, required=False)
    key = forms.CharField(label=_("Key contains"), required=False, max_length=MAX_KEY_CHARACTERS)
    model = forms.MultipleChoiceField(label=_("Models"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))
    language = forms.MultipleChoiceField(label=_("Languages"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))

    def __init__(self, sent: QueryDict, *, by: User) -> None:
        collections, models = collections_to_use(by), models_for(by)
        self._collections = {one.slug: one for one in collections}
        self._models = {str(one.pk): one for one in models}
        self._languages = {one.tag: one for one in Language.objects.all()}
        super().__init__(_filled(sent, collections, models))
        _offer(
            self.fields["collection"],
            self._collections,
            gettext("This collection no longer exists. Choose another one."),
        )
        _offer(self.fields["model"], self._models, gettext("This model no longer exists. Choose another one."))
        _offer(self.fields["language"], self._languages, gettext("There is no such language. Choose another one."))

    def clean_model(self) -> Sequence[CaptioningModel]:
        chosen = set(self.cleaned_data["model"])
        if len(chosen) > MAX_MODELS:
            text = ngettext("Choose at most %(number)d model.", "Choose at most %(number)d models.", MAX_MODELS)
            raise forms.ValidationError(text % {"number": MAX_MODELS})
        return [model for key, model in self._models.items() if key in chosen]

    def clean_language(self) -> Sequence[Language]:
        chosen = set(self.cleaned_data["language"])
        return [language for tag, language in self._languages.items() if tag in chosen]

    def asked(self) -> GalleryQuery:
        """Return the choices of a valid form."""
        cleaned = self.cleaned_data
        return GalleryQuery(
            collection=self._collections[cleaned["collection"]],
            models=cleaned["model"],
            languages=cleaned["language"],
            show=GalleryImagesShown(cleaned["show"]),
            key=cleaned["key"],
        )


def _offer(field: Any, choices: Mapping[str, object], refusal: str) -> None:
    field.choices = [(key, str(one)) for key, one in choices.items()]
    field.error_messages["invalid_choice"] = refusal


def _filled(sent: QueryDict, collections: QuerySet[Collection], models: QuerySet[CaptioningModel]) -> QueryDict:
    filled = sent.copy()
    named = {*filled.getlist("model")} - {""}
    asked = models.filter(pk__in=[one.pk for one in models if str(one.pk) in named]) if named else models
    usual = usual_collection(collections, asked) if not filled.get("collection") else None
    if usual is not None:
        filled["collection"] = usual.slug
    collection = next((one for one in collections if one.slug == filled.get("collection")), None)
    if collection is not None and not (filled.get("model") and filled.get("language")):
        usual_models, languages = usual_choice(collection, asked)
        if not filled.get("model"):
            filled.setlist("model", [str(model.pk) for model in usual_models])
        if not filled.get("language"):
            filled.setlist("language", [language.tag for language in languages])
    return filled
