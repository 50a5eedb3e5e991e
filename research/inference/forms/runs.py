"""Forms to start runs and to try a model on one image, with the fields of decoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image
from core.images.permissions import collections_to_use
from core.images.selectors.filters import images_named
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OWNER_FIELDS, OwnerForm
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.models import IMPORTED, CaptioningModel
from research.inference.permissions import models_for
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.selectors.gallery import hidden_from
from research.inference.selectors.models import counts_in

NAMES = tuple(field.name for field in fields(Decoding))
PRECISIONS = (
    ("auto", _("fastest for the device (half precision on a GPU)")),
    ("float32", "float32"),
    ("float16", "float16"),
    ("bfloat16", "bfloat16"),
)
MAX_SEED = 2**31 - 1
MAX_KEY_CHARACTERS = 255
BOXES = {"class": "choices"}


class DecodingForm(forms.Form):
    """The settings of `Decoding`; `is_consistent` only of pivot-stabilised models."""

    beams = forms.IntegerField(
        label=_("Beams"),
        min_value=1,
        max_value=64,
        help_text=_(
            "1 is greedy decoding. Papers mostly use beam search with 3 to 5 beams, which takes that many times longer."
        ),
    )
    max_tokens = forms.IntegerField(
        label=_("Maximum tokens"),
        min_value=1,
        max_value=1024,
        help_text=_("As the model counts them. Languages that it knows less well need more tokens for the same words."),
    )
    min_tokens = forms.IntegerField(label=_("Minimum tokens"), min_value=0, max_value=1024)
    length_penalty = forms.FloatField(
        label=_("Length penalty"),
        min_value=-10,
        max_value=10,
        help_text=_("For beam search. Above 1 favours longer captions, below 1 shorter ones."),
    )
    temperature = forms.FloatField(
        label=_("Temperature"),
        min_value=0,
        max_value=10,
        help_text=_(
            "0 always takes the most likely words. Above 0 words are sampled; the higher it is, the more varied "
            "they are."
        ),
    )
    top_p = forms.FloatField(
        label=_("Top-p"),
        min_value=0.01,
        max_value=1,
        help_text=_("For sampling: only the most likely words that together have this probability are sampled."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        help_text=_("For sampling: the same seed gives the same captions."),
    )
    precision = forms.ChoiceField(label=_("Precision"), choices=PRECISIONS)
    is_consistent = forms.BooleanField(
        label=_("The same stabiliser for all languages of an image"),
        required=False,
        help_text=_("The stabiliser is decoded first, with no language given, and held fixed."),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        of: Decoding | None = None,
        is_pivot: bool = False,
        initial: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(data, initial=(of or Decoding()).stored() | dict(initial or {}), **more)
        if not is_pivot:
            del self.fields["is_consistent"]

    def decoding_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in NAMES if name in self.fields]

    @property
    def decoding(self) -> Decoding:
        """Return the decoding of a valid form."""
        return Decoding.from_stored(self.cleaned_data)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if (cleaned.get("min_tokens") or 0) > cleaned.get("max_tokens", MAX_SEED):
            self.add_error("min_tokens", gettext("The minimum number of tokens cannot be above the maximum."))
        if cleaned.get("beams", 1) > 1 and cleaned.get("temperature"):
            self.add_error(
                "temperature", gettext("Enter 0 here, or set beams to 1: sampling and beam search cannot be combined.")
            )
        return cleaned


class RunChoiceForm(forms.Form):
    """The first step."""

    model = forms.ModelChoiceField(
        CaptioningModel.objects.none(),
        label=_("Model"),
        empty_label=_("Choose…"),
        error_messages={"invalid_choice": _("There is no such model, or it cannot be run. Choose another one.")},
    )
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        to_field_name="slug",
        label=_("Collection"),
        empty_label=_("Choose…"),
        help_text=_("All its images are described."),
        error_messages={"invalid_choice": _("There is no such collection. Choose another one.")},
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = {
            "model": models_for(by).filter(retired_at=None).exclude(backend=IMPORTED),
            "collection": collections_to_use(by),
        }
        for name, queryset in choices.items():
            field: Any = self.fields[name]
            field.queryset = queryset.order_by("name")

    @property
    def has_models(self) -> bool:
        return bool(self.fields["model"].queryset.exists())  # type: ignore[attr-defined]

    @property
    def has_collections(self) -> bool:
        return bool(self.fields["collection"].queryset.exists())  # type: ignore[attr-defined]


class LanguageChoices(forms.CheckboxSelectMultiple):
    """Check boxes; languages that the model cannot write are disabled."""

    def __init__(self, disabled: frozenset[str]) -> None:
        super().__init__(attrs={"class": "choices"})
        self.disabled = disabled

    def create_option(self, name: str, value: Any, *args: Any, **more: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **more)
        if str(value) in self.disabled:
            option["attrs"]["disabled"] = True
        return option


class RunForm(DecodingForm, OwnerForm):
    """The second step. `codes`: the languages that the model can write, with its own code for each."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        model: CaptioningModel,
        collection: Collection,
        images: int,
        codes: Mapping[str, str],
        by: User,
    ) -> None:
        decoding = Decoding.from_stored(model.decoding)
        super().__init__(data, of=decoding, is_pivot=model.is_pivot, by=by, parts=[model, collection])
        languages, counts = Language.objects.all(), counts_in(model, collection)
        self.codes = codes
        self.by_tag = {language.tag: language for language in languages}
        able = [language for language in languages if language.tag in codes]
        unable = [language for language in languages if language.tag not in codes]
        initial = [language.tag for language in able if 0 < counts.get(language.tag, 0) < images]
        field = forms.MultipleChoiceField(
            label=_("Languages"),
            choices=[
                *((one.tag, self._label(one, codes[one.tag], counts.get(one.tag, 0), images)) for one in able),
                *(
                    (one.tag, gettext("%(language)s – the model does not write it") % {"language": one.name})
                    for one in unable
                ),
            ],
            widget=LanguageChoices(frozenset(one.tag for one in unable)),
            initial=initial or ([able[0].tag] if len(able) == 1 else []),
            help_text=_("In brackets: the model's own code, then how many images already have a caption by it."),
        )
        name = NameCharField(
            label=_("Name of the variant"),
            required=False,
            max_length=MAX_MODEL_NAME_CHARACTERS,
            help_text=_(
                "If the decoding differs from the model's earlier runs, the captions are kept apart, as "
                "those of a variant. If empty, the variant is named after what differs."
            ),
        )
        self.fields = {"languages": field, **self.fields, "name": name}
        self.put_owner_last()

    def clean_languages(self) -> list[Language]:
        tags = self.cleaned_data["languages"]
        if unable := [self.by_tag[tag].name for tag in tags if tag not in self.codes]:
            raise ValidationError(
                gettext("The model does not write %(languages)s. Choose other languages.")
                % {"languages": ", ".join(unable)}
            )
        return [self.by_tag[tag] for tag in self.cleaned_data["languages"]]

    @property
    def about(self) -> dict[str, Any]:
        """Return the values to start a run, of a valid form."""
        cleaned = self.cleaned_data
        return {"languages": cleaned["languages"], "decoding": self.decoding, "name": cleaned["name"]}

    @property
    def owner(self) -> dict[str, Any]:
        """Return the owner, of a valid form."""
        return {name: self.cleaned_data[name] for name in OWNER_FIELDS}

    @staticmethod
    def _label(language: Language, code: str, count: int, images: int) -> str:
        text = gettext("%(language)s [%(code)s] %(count)s of %(images)s")
        return text % {"language": language.name, "code": code, "count": count, "images": images}


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
