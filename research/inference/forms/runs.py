"""Forms to start a run: first the model and the collection, on which the rest depends; then languages and decoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OWNER_FIELDS, OwnerForm
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.forms.captions import MODEL_NAME_CHARACTERS
from research.inference.forms.decoding import DecodingForm
from research.inference.models import IMPORTED, CaptioningModel
from research.inference.permissions import models_for
from research.inference.selectors.models import counts_in


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
            max_length=MODEL_NAME_CHARACTERS,
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
