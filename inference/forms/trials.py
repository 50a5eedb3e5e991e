"""The form to try a model on one image, from a collection or uploaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from images.models import Collection, Image
from images.permissions import collections_to_use
from images.selectors.image_names import images_named
from images.services.images import sha256_of
from inference.backends.captioners import Decoding
from inference.forms.decoding import DecodingForm
from inference.models import CaptioningModel
from inference.selectors.gallery import hidden_from
from languages.models import Language
from people.models import User

ENGLISH = "en"
LONGEST_KEY = 255
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
    key = forms.CharField(
        label=_("Key or file name of an image"), required=False, max_length=LONGEST_KEY, empty_value=""
    )
    upload = forms.FileField(
        label=_("Or an image of your own"),
        required=False,
        help_text=_(
            "JPEG, PNG, WebP, TIFF or GIF that takes at most 100 MB of memory: a JPEG with 80 million pixels, a PNG "
            "with 25 million, a WebP with 6 million. Nobody else sees it. It is deleted with the trial after a day."
        ),
        widget=forms.FileInput(attrs={"accept": "image/jpeg,image/png,image/webp,image/tiff,image/gif"}),
    )
    languages = forms.MultipleChoiceField(label=_("Languages"), widget=forms.CheckboxSelectMultiple(attrs=BOXES))

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        files: MultiValueDict[str, UploadedFile[Any]] | None = None,
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
            files,
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
        key, upload = cleaned.get("key", ""), cleaned.get("upload")
        if "key" in self.errors or "collection" in self.errors or "upload" in self.errors:
            return cleaned
        if bool(key) == bool(upload):
            self.add_error("key", gettext("Either name an image or send one, not both."))
            return cleaned
        image = self._named(key, cleaned.get("collection")) if key else _same(upload)
        if image is not None and hidden_from(self.viewer, [image.pk]):
            self.add_error(
                "key" if key else "upload",
                gettext("This image is in a batch assigned to you. Submit that batch first, or choose another image."),
            )
        # An upload that is an image of a collection is tried as that, so that it is hidden while it is assigned.
        cleaned["image"], cleaned["upload"] = image, None if image is not None else upload
        return cleaned

    @property
    def about(self) -> dict[str, Any]:
        """Return the values to start a trial, of a valid form."""
        cleaned, upload = self.cleaned_data, self.cleaned_data["upload"]
        name = upload.name if upload else ""
        values = {"image": cleaned["image"], "upload": upload, "upload_name": name, "languages": cleaned["languages"]}
        return values | {"decoding": self.decoding}

    def _named(self, key: str, collection: Collection | None) -> Image | None:
        named = images_named([key], collection, among=collections_to_use(self.viewer))[key]
        if len(named.images) > 1:
            self.add_error("key", named.problem)
        elif not named.images:
            self.add_error("key", gettext("No image has this key or file name. Check the spelling."))
        return named.only


def _same(upload: Any) -> Image | None:
    """Find the image of a collection that is the same file."""
    return Image.objects.filter(sha256=sha256_of(upload)).first()
