"""The form to try a model on one image of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image
from core.images.permissions import collections_to_use
from core.images.selectors.image_names import images_named
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.forms.decoding import DecodingForm
from research.inference.models import CaptioningModel
from research.inference.selectors.gallery import hidden_from

ENGLISH = "en"
MAX_KEY_CHARACTERS = 255
BOXES = {"class": "choices"}


class TryForm(DecodingForm):
    """`codes`: the languages that the model can write, with its own code for each."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        to_field_name="slug",
        label=_("Collection"),
        required=False,
        empty_label=_("any"),
    )
    key = forms.CharField(label=_("Key or file name of an image"), max_length=MAX_KEY_CHARACTERS)
    languages = forms.MultipleChoiceField(label=_("Languages"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        model: CaptioningModel,
        codes: Mapping[str, str],
        viewer: User,
        initial: Mapping[str, Any],
    ) -> None:
        able = {language.tag: language for language in Language.objects.filter(pk__in=list(codes))}
        usual = ENGLISH if ENGLISH in able else next(iter(able), "")
        super().__init__(
            data,
            of=Decoding.from_stored(model.decoding),
            is_pivot=model.is_pivot,
            initial={"languages": [usual], **initial},
        )
        self.viewer, self.by_tag = viewer, able
        collections: Any = self.fields["collection"]
        collections.queryset = collections_to_use(viewer).order_by("name")
        field: Any = self.fields["languages"]
        field.choices = [(tag, f"{language.name} [{codes[tag]}]") for tag, language in able.items()]

    def clean_languages(self) -> list[Language]:
        return [self.by_tag[tag] for tag in self.cleaned_data["languages"]]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "key" in self.errors or "collection" in self.errors:
            return cleaned
        image = self._named(cleaned["key"], cleaned["collection"])
        if image is not None and hidden_from(self.viewer, [image.pk]):
            self.add_error(
                "key",
                gettext("This image is in a batch assigned to you. Submit that batch first, or choose another image."),
            )
        cleaned["image"] = image
        return cleaned

    @property
    def about(self) -> dict[str, Any]:
        """Return the values to start a trial, of a valid form."""
        cleaned = self.cleaned_data
        usable = collections_to_use(self.viewer).filter(entries__image=cleaned["image"])
        collection = cleaned["collection"] or usable.order_by("-pk").first()
        values = {"image": cleaned["image"], "collection": collection, "languages": cleaned["languages"]}
        return values | {"decoding": self.decoding}

    def _named(self, key: str, collection: Collection | None) -> Image | None:
        named = images_named([key], collection, among=collections_to_use(self.viewer))[key]
        if len(named.images) > 1:
            self.add_error("key", named.problem)
        elif not named.images:
            self.add_error("key", gettext("No image has this key or file name. Check the spelling."))
        return named.only
