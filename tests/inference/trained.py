"""Small trainings of captioning models, and what watches them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.training.checkpoints import StepRecord, ValidationRecord
from research.inference.training.examples import TrainingExample
from research.inference.training.options import TrainingOptions
from research.inference.training.trainer import TrainingOutcome, train_captioner

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (250, 250, 250)}
TRAINING = [TrainingExample(colour, "en", f"a {colour} picture") for colour in ("red", "green", "blue")]
VALIDATION = [TrainingExample("white", "en", "a white picture")]
SHORT = TrainingOptions(steps=9, batch_size=3, validate_every=3, learning_rate=1e-3, max_tokens=6)


class Watcher:
    """Keeps what it is told, and stops after a step."""

    def __init__(self, stop_after: int = 0) -> None:
        self.steps: list[StepRecord] = []
        self.validations: list[ValidationRecord] = []
        self.notes: list[str] = []
        self._stop_after = stop_after

    def stepped(self, record: StepRecord) -> None:
        self.steps.append(record)

    def validated(self, record: ValidationRecord) -> None:
        self.validations.append(record)

    def noted(self, message: str) -> None:
        self.notes.append(message)

    def resumed(self, step: int) -> None:
        self.notes.append(f"Resumed after step {step}.")

    def before_saving(self) -> None:
        pass

    def is_stopped(self) -> bool:
        return bool(self._stop_after) and len(self.steps) >= self._stop_after


def picture(name: str) -> Image.Image:
    return Image.new("RGB", (40, 40), COLOURS[name])


def captioner_of(folder: Path, *, is_pivot: bool = False, **options: Any) -> Any:
    spec = ModelSpec("base", "base", options, is_pivot=is_pivot)
    return EncoderDecoderBackend().load_folder(spec, folder)


def trained(
    captioner: Any,
    folder: Path,
    *,
    options: TrainingOptions = SHORT,
    watcher: Watcher | None = None,
    training: Sequence[TrainingExample] = TRAINING,
    run: str = "run",
) -> TrainingOutcome:
    return train_captioner(
        captioner,
        run=run,
        training=training,
        validation=VALIDATION,
        read_image=picture,
        options=options,
        folder=folder,
        watcher=watcher or Watcher(),
    )
