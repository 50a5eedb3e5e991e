"""The options of a training, as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.people.forms.fields import NameCharField
from core.people.models import User
from research.inference.backends.encoders import EncoderSubject
from research.inference.forms.runs import MAX_SEED
from research.inference.models import CaptioningModel, Encoder
from research.inference.pages.runs import CHOICE_LABELS, OPTION_LABELS
from research.inference.permissions import encoders_for, models_for
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.services.encoders import subjects_of
from research.inference.services.trainings import is_trainable
from research.inference.training.options import TrainingError, TrainingOptions

MAX_NUMBER = 10_000_000
RARE = (
    "schedule",
    "warmup_steps",
    "patience",
    "max_tokens",
    "weight_decay",
    "lora_rank",
    "lora_alpha",
    "lora_dropout",
    "precision",
    "seed",
)
"""Options with defaults that are right for most."""
SMALL_RATE = 5e-4
"""A new model learns at ten times the rate of one that was trained before."""


class TrainingForm(forms.Form):
    """What is trained, and how. Subclasses say on what."""

    name = NameCharField(
        label=_("Name"), max_length=MAX_MODEL_NAME_CHARACTERS, help_text=_("Of the model that is made.")
    )
    base = forms.ModelChoiceField(
        CaptioningModel.objects.none(),
        label=_("Base"),
        required=False,
        empty_label=_("a new small model"),
        help_text=_(
            "The model to train. A new small model learns hundreds of images on a CPU in minutes, as a baseline."
        ),
    )
    features = forms.ModelChoiceField(
        Encoder.objects.none(),
        label=_("Image features for a small model"),
        required=False,
        empty_label=_("none: it sees the images"),
        help_text=_("It captions what this encoder sees, which does not change, and learns in minutes."),
    )
    method = forms.ChoiceField(label=OPTION_LABELS["method"], choices=CHOICE_LABELS["method"])
    targets = forms.ChoiceField(
        label=OPTION_LABELS["targets"],
        choices=CHOICE_LABELS["targets"],
        help_text=_("Stabilisers are the English captions of the same images. Choose references that have them."),
    )
    steps = forms.IntegerField(
        label=OPTION_LABELS["steps"],
        min_value=1,
        max_value=MAX_NUMBER,
        help_text=_("In each, the weights are changed once."),
    )
    batch_size = forms.IntegerField(
        label=OPTION_LABELS["batch_size"],
        min_value=1,
        max_value=65536,
        help_text=_("If they do not fit into memory together, they are computed in parts: the result is the same."),
    )
    learning_rate = forms.FloatField(
        label=OPTION_LABELS["learning_rate"],
        help_text=_("About 0.00005 for a model that was trained before, 0.0005 for a new model or for LoRA."),
    )
    schedule = forms.ChoiceField(label=OPTION_LABELS["schedule"], choices=CHOICE_LABELS["schedule"])
    warmup_steps = forms.IntegerField(
        label=OPTION_LABELS["warmup_steps"],
        min_value=0,
        max_value=MAX_NUMBER,
        help_text=_("The learning rate rises in these."),
    )
    validate_every = forms.IntegerField(
        label=OPTION_LABELS["validate_every"],
        min_value=1,
        max_value=MAX_NUMBER,
        help_text=_("At each, captions of the validation images are scored by CIDEr, and a checkpoint is saved."),
    )
    patience = forms.IntegerField(
        label=OPTION_LABELS["patience"],
        min_value=0,
        max_value=1000,
        help_text=_("Training stops after this many validations without a better CIDEr. 0: it never stops early."),
    )
    max_tokens = forms.IntegerField(label=OPTION_LABELS["max_tokens"], min_value=1, max_value=1024)
    weight_decay = forms.FloatField(label=OPTION_LABELS["weight_decay"], min_value=0, max_value=1)
    lora_rank = forms.IntegerField(label=OPTION_LABELS["lora_rank"], min_value=1, max_value=1024)
    lora_alpha = forms.IntegerField(label=OPTION_LABELS["lora_alpha"], min_value=1, max_value=4096)
    lora_dropout = forms.FloatField(label=OPTION_LABELS["lora_dropout"], min_value=0, max_value=0.99)
    precision = forms.ChoiceField(label=OPTION_LABELS["precision"], choices=CHOICE_LABELS["precision"])
    seed = forms.IntegerField(
        label=OPTION_LABELS["seed"],
        min_value=0,
        max_value=MAX_SEED,
        help_text=_("Of the order of captions, of dropout, and of which images are for validation."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, by: User, initial: Mapping[str, Any] | None = None
    ) -> None:
        usual = TrainingOptions(steps=300, learning_rate=SMALL_RATE, validate_every=50).as_dict()
        super().__init__(data, initial=usual | dict(initial or {}))
        field: Any = self.fields["base"]
        trainable = [
            model.pk for model in models_for(by).filter(variant_of=None, retired_at=None) if is_trainable(model)
        ]
        seeing: Any = self.fields["features"]
        encoders = [one.pk for one in encoders_for(by) if EncoderSubject.IMAGES in subjects_of(one)]
        seeing.queryset = encoders_for(by).filter(pk__in=encoders).order_by("name")
        if not encoders:
            del self.fields["features"]
        field.queryset = models_for(by).filter(pk__in=trainable).order_by("name")

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in RARE]

    def other_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in RARE]

    def has_option_errors(self) -> bool:
        return any(name in self.errors for name in RARE)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.options = TrainingOptions.from_dict({name: cleaned[name] for name in OPTION_LABELS})
            except TrainingError as refused:
                self.add_error(None, str(refused))
        return cleaned
