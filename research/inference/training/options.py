"""What a training is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _


class TrainingError(Exception):
    """A training cannot begin or continue; the message says why, and what to do."""


class TrainingMethod(StrEnum):
    """Which weights are changed: all, or small matrices beside those of linear layers, added to them in the end."""

    FULL = "full"
    LORA = "lora"


class RateSchedule(StrEnum):
    """How the learning rate goes down after the warm-up: not at all, in a straight line to 0, or as half a cosine."""

    CONSTANT = "constant"
    LINEAR = "linear"
    COSINE = "cosine"


class TrainingTargets(StrEnum):
    """What the model learns to write: captions, or a stabiliser, the language's separator and the caption.

    With `CONSISTENT`, all captions of an image have the same stabiliser.
    """

    PLAIN = "plain"
    PIVOT = "pivot"
    CONSISTENT = "consistent"


class TrainingPrecision(StrEnum):
    """What the forward pass is computed in; weights are kept in 32 bits. `AUTO`: bfloat16 on a GPU that has it."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


CHOICES: dict[str, Any] = {
    "schedule": RateSchedule,
    "method": TrainingMethod,
    "targets": TrainingTargets,
    "precision": TrainingPrecision,
}
"""Of options that have one of some values."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a captioning model is trained. The same options, data and base give the same weights on one CPU.

    - `steps`: how often the weights are changed.
    - `batch_size`: captions of a step. As many as fit on the device are computed at once; their gradients are added up.
    - `at_once`: captions to begin with on the device; halved where memory runs out. 0: a whole step.
    - `learning_rate` and `weight_decay`: for AdamW.
    - `warmup_steps`: in which the learning rate rises from 0.
    - `validate_every`: steps between validations, each of which keeps a checkpoint.
    - `patience`: validations without a better CIDEr after which training stops; 0: never.
    - `lora_rank`, `lora_alpha` and `lora_dropout`: of `Method.LORA`: the rank of the matrices, the scale (alpha /
      rank), and the share of inputs left out.
    - `max_tokens`: of captions written for validation.
    - `seed`: of the order of captions and of dropout.
    """

    steps: int = 1000
    batch_size: int = 32
    at_once: int = 0
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    schedule: RateSchedule = RateSchedule.LINEAR
    warmup_steps: int = 0
    validate_every: int = 100
    patience: int = 0
    method: TrainingMethod = TrainingMethod.FULL
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    targets: TrainingTargets = TrainingTargets.PLAIN
    precision: TrainingPrecision = TrainingPrecision.AUTO
    max_tokens: int = 40
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingOptions:
        """Raises TrainingError."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise TrainingError(_("There is no option “%(option)s”.") % {"option": unknown[0]})
        options = cls(**{name: CHOICES[name](value) if name in CHOICES else value for name, value in values.items()})
        options.check()
        return options

    def check(self) -> None:
        """Raises TrainingError."""
        for name in ("steps", "batch_size", "validate_every", "lora_rank", "lora_alpha", "max_tokens"):
            if getattr(self, name) < 1:
                raise TrainingError(_("“%(option)s” must be at least 1.") % {"option": name})
        for name in ("at_once", "weight_decay", "warmup_steps", "patience", "seed"):
            if getattr(self, name) < 0:
                raise TrainingError(_("“%(option)s” must not be negative.") % {"option": name})
        if not 0 < self.learning_rate <= 1:
            raise TrainingError(_("The learning rate must be above 0 and at most 1."))
        if not 0 <= self.lora_dropout < 1:
            raise TrainingError(_("“%(option)s” must be from 0 to below 1.") % {"option": "lora_dropout"})
        if self.warmup_steps > self.steps:
            raise TrainingError(
                _("The warm-up has %(warmup)s steps, the training only %(steps)s.")
                % {"warmup": self.warmup_steps, "steps": self.steps}
            )
