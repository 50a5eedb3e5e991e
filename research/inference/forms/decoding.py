"""The form for decoding settings, with the defaults of most publications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from research.inference.backends.captioners import Decoding

NAMES = tuple(field.name for field in fields(Decoding))
PRECISIONS = (
    ("auto", _("fastest for the device (half precision on a GPU)")),
    ("float32", "float32"),
    ("float16", "float16"),
    ("bfloat16", "bfloat16"),
)
MAX_SEED = 2**31 - 1


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
