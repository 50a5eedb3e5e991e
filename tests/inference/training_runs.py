"""Trainings of small models on painted images, as a worker does them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from core.images.models import Collection
from research.inference.models import Training
from research.inference.services import trainings
from research.inference.services.training_worker import execute_training
from research.inference.training.examples import TrainingExample
from research.inference.training.options import TrainingOptions
from tests.factories import make_language, make_project
from tests.inference.embedded import painted_collection

OPTIONS = TrainingOptions(steps=6, batch_size=3, validate_every=3, learning_rate=1e-3, max_tokens=6)


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
