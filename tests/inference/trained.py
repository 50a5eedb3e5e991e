"""Small models that are trained: on a few pictures, and on painted images as a worker does it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone
from PIL import Image

from core.images.models import Collection
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.models import Training
from research.inference.services import trainings
from research.inference.services.training_worker import execute_training
from research.inference.training.checkpoints import StepRecord, ValidationRecord
from research.inference.training.examples import TrainingExample
from research.inference.training.options import TrainingOptions
from research.inference.training.trainer import TrainingOutcome, train_captioner
from tests.factories import make_language, make_project
from tests.inference.embedded import painted_collection

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (250, 250, 250)}
TRAINING = [TrainingExample(colour, "en", f"a {colour} picture") for colour in ("red", "green", "blue")]
VALIDATION = [TrainingExample("white", "en", "a white picture")]
SHORT = TrainingOptions(steps=9, batch_size=3, validate_every=3, learning_rate=1e-3, max_tokens=6)
OPTIONS = TrainingOptions(steps=6, batch_size=3, validate_every=3, learning_rate=1e-3, max_tokens=6)


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


def examples_of(collection: Collection, *, language: str = "en") -> list[TrainingExample]:
    make_language(language)
    shas = collection.entries.order_by("position").values_list("image__sha256", flat=True)
    return [TrainingExample(sha, language, f"picture number {number}") for number, sha in enumerate(shas)]


def make_training(
    *, options: TrainingOptions = OPTIONS, examples: Sequence[TrainingExample] | None = None, **about: Any
) -> Training:
    """Of five images for training and one for validation."""
    if examples is None:
        examples = examples_of(painted_collection(6))
    values: dict[str, Any] = {
        "name": "Trained",
        "base": None,
        "training": examples[:-1],
        "validation": examples[-1:],
        "evaluated": (),
        "sources": [{"split": "training", "set": 1, "name": "People", "language": "en", "digest": "d"}],
        "options": options,
        "by": None,
        "now": timezone.now(),
    }
    if "project" not in about:
        values["project"] = make_project()
    return trainings.start(**(values | about))


def work(training: Training, *, worker: str = "one:1", later_s: float = 0, **about: Any) -> bool:
    """Work on the training as long as one slice lasts; returns whether there is more to do."""
    has_more = execute_training(
        training_id=training.pk, worker=worker, clock=lambda: timezone.now() + timedelta(seconds=later_s), **about
    )
    training.refresh_from_db()
    return has_more


def losses(training: Training) -> list[tuple[int, float]]:
    return list(training.curve.values_list("step", "loss"))
