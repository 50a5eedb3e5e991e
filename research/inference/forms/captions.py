"""Forms of models' captions: what the gallery shows, and switching one off."""

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
from core.people.models import User
from research.inference.models import CaptioningModel
from research.inference.permissions import models_for
from research.inference.selectors.gallery import (
    MAX_MODELS,
    GalleryImagesShown,
    GalleryQuery,
    usual_choice,
    usual_collection,
)

MAX_KEY_CHARACTERS = 200
BOXES = {"class": "choices"}


class SwitchOffForm(forms.Form):
    """Why a caption is switched off."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("Managers of its project can read it."))


class KeyForm(forms.Form):
    key = forms.CharField(label=_("Key contains"), required=False, max_length=MAX_KEY_CHARACTERS)


class GalleryForm(KeyForm):
    """Missing choices are filled in from what exists, of the chosen models if there are any.

    Without a collection there is nothing to show.
    """

    collection = forms.ChoiceField(label=_("Collection"))
    show = forms.ChoiceField(label=_("Images"), choices=GalleryImagesShown.choices, required=False)
    model = forms.MultipleChoiceField(label=_("Models"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))
    language = forms.MultipleChoiceField(label=_("Languages"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))

    field_order = ("collection", "show", "key", "model", "language")

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
