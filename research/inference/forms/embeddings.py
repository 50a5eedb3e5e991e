"""Forms to register an encoder, and to start a run of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OwnerForm
from core.people.models import User
from research.inference.backends.encoders import EncoderSubject
from research.inference.backends.registry import encoders
from research.inference.backends.vision import AUTO, POOLS
from research.inference.models import CaptioningModel, Encoder, WeightPrecision
from research.inference.permissions import encoders_for, models_for
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.services.encoders import subjects_of

VISION = "vision"
MAX_SOURCE_CHARACTERS = 500
POOL_LABELS = {
    "auto": _("as the model was trained"),
    "pooler": _("what the model pools itself"),
    "first": _("the first token"),
    "mean": _("the mean of all tokens"),
}


class EncoderForm(OwnerForm):
    name = NameCharField(label=_("Name"), max_length=MAX_MODEL_NAME_CHARACTERS)
    backend = forms.ChoiceField(label=_("Kind"))
    source = forms.CharField(
        label=_("Source"),
        required=False,
        max_length=MAX_SOURCE_CHARACTERS,
        help_text=_(
            "The name of a folder that the operator put there, or a model of the hub with its commit: "
            "name/model@ and 40 digits. Leave it empty for an encoder from a package."
        ),
    )
    pool = forms.ChoiceField(
        label=_("Pooling of the last layer"),
        choices=[(pool, POOL_LABELS[pool]) for pool in POOLS],
        initial=AUTO,
        required=False,
        help_text=_("Only for a vision model."),
    )
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 2}), max_length=2000
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, by: User) -> None:
        super().__init__(data, by=by)
        backend: Any = self.fields["backend"]
        backend.choices = [(one.name, one.title) for one in encoders().values()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        pool = cleaned.pop("pool", "") or AUTO
        cleaned["options"] = {"pool": pool} if pool != AUTO and cleaned.get("backend") == VISION else {}
        return cleaned


class EmbeddingForm(OwnerForm):
    """Vectors of a collection's images, or of a model's captions of them."""

    made_of = ("encoder", "collection", "captions_of")

    encoder = forms.ModelChoiceField(Encoder.objects.none(), label=_("Encoder"), empty_label=_("Choose…"))
    collection = forms.ModelChoiceField(
        Collection.objects.none(), to_field_name="slug", label=_("Collection"), empty_label=_("Choose…")
    )
    captions_of = forms.ModelChoiceField(
        CaptioningModel.objects.none(),
        label=_("Captions of"),
        required=False,
        empty_label=_("none: the images themselves"),
    )
    language = forms.ModelChoiceField(
        Language.objects.all(),
        label=_("Language of the captions"),
        required=False,
        empty_label=_("none: the images themselves"),
    )
    precision = forms.ChoiceField(
        label=_("Precision"),
        choices=WeightPrecision.choices,
        initial=WeightPrecision.FLOAT16,
        help_text=_("16 bits take half the space; cosines then differ in the fourth digit at most."),
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        choices = {"encoder": encoders_for(by), "collection": collections_to_use(by), "captions_of": models_for(by)}
        for name, queryset in choices.items():
            field: Any = self.fields[name]
            field.queryset = queryset.order_by("name")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        self.check_usable(cleaned, *self.made_of)
        captions_of, language = cleaned["captions_of"], cleaned["language"]
        if (captions_of is None) != (language is None):
            self.add_error(
                "language" if language is None else "captions_of",
                gettext(
                    "For captions, choose both a model and a language. For the images themselves, leave both empty."
                ),
            )
        subject = EncoderSubject.IMAGES if captions_of is None and language is None else EncoderSubject.CAPTIONS
        able = subjects_of(cleaned["encoder"])
        if subject not in able:
            self.add_error("encoder", _unable(subject, has_any=bool(able)))
        return cleaned


def _unable(subject: EncoderSubject, *, has_any: bool) -> str:
    if not has_any:
        return gettext("The software that this encoder needs is not installed here.")
    if subject is EncoderSubject.IMAGES:
        return gettext("This encoder takes captions only. Choose a model and a language.")
    return gettext("This encoder takes images only. Leave the model and the language empty.")
