"""Encoders, embedding sets and the runs that make them, for tests."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from core.images.models import Collection, CollectionImage, Image
from core.images.services import file_storage
from research.inference.backends import registry
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject
from research.inference.models import (
    EmbeddingSet,
    Encoder,
    Run,
    RunState,
    Training,
    TrainingStep,
    TrainingValidation,
    WeightPrecision,
)
from research.inference.selectors.embeddings import IDS_FILE, VECTORS_FILE, digest_of
from research.inference.services import model_cache
from research.inference.services.executor import execute_run
from research.inference.services.runs import start_embeddings
from research.inference.training.options import TrainingOptions
from tests.factories import NOW, make_collection

_training_numbers = itertools.count(1)
COLOURS = ("red", "green", "blue", "white", "black", "orange", "purple", "grey")


class MeanColours:
    """Stands in for an encoder: the mean red, green and blue of an image; of a text, how often r, g and b come."""

    signature, space, dimensions = "mean-colours-1", "mean-colours-1", 3
    side, batch_size = None, 4

    def __init__(self) -> None:
        self.batches: list[int] = []

    def describe(self) -> dict[str, str]:
        return {"encoder": "mean colours"}

    def prepare(self, image: Pillow.Image) -> Any:
        return np.asarray(image, dtype=np.float32).reshape(-1, 3).mean(axis=0)

    def features_of(self, prepared: Sequence[Any]) -> Any:
        self.batches.append(len(prepared))
        return np.stack(prepared)

    def vectors(self, captions: Sequence[str]) -> Any:
        self.batches.append(len(captions))
        return np.array([[1.0 + text.count(letter) for letter in "rgb"] for text in captions], dtype=np.float32)

    def close(self) -> None:
        return None


class MeanColoursBackend:
    name, title, queue, is_visual = "mean-colours", "Mean colours", "default", True

    def check(self, spec: ModelSpec) -> None:
        if spec.source == "refused":
            raise EncoderSettingsError("There is no such source.")

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset(EncoderSubject)

    def load(self, spec: ModelSpec) -> MeanColours:
        return MeanColours()


PATH = "tests.inference.embedded:MeanColoursBackend"


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have there be a backend that needs no weights, and nothing loaded."""
    monkeypatch.setattr(registry, "ENCODERS", (*registry.ENCODERS, PATH))
    model_cache.clear()


def make_encoder(name: str = "Colours", **fields: Any) -> Encoder:
    return Encoder.objects.create(is_shared=True, name=name, **({"backend": MeanColoursBackend.name} | fields))


def paint(image: Image, colour: str, size: tuple[int, int] = (8, 6)) -> None:
    """The original of an image: one colour throughout."""
    content = io.BytesIO()
    Pillow.new("RGB", size, colour).save(content, "PNG")
    file_storage.put(image.original, content.getvalue())


def painted_collection(images: int = len(COLOURS)) -> Collection:
    collection = make_collection(images)
    for position, image in enumerate(images_of(collection)):
        paint(image, COLOURS[position % len(COLOURS)])
    return collection


def images_of(collection: Collection) -> list[Image]:
    entries = CollectionImage.objects.filter(collection=collection).select_related("image").order_by("position")
    return [entry.image for entry in entries]


def begin(encoder: Encoder, collection: Collection, *, precision: str = WeightPrecision.FLOAT32, **about: Any) -> Run:
    return start_embeddings(
        is_shared=True, encoder=encoder, collection=collection, precision=precision, by=None, now=NOW, **about
    )


def work(run: Run, *, later: timedelta = timedelta()) -> EmbeddingSet:
    """Work on the run until nothing is left of it; the clock goes on by a second each time it is looked at."""
    moments = iter(NOW + later + timedelta(seconds=second) for second in range(100_000))
    while execute_run(run_id=run.pk, worker="worker", clock=lambda: next(moments)):
        pass
    run.refresh_from_db()
    return EmbeddingSet.objects.select_related("run", "encoder").get(run=run)


def make_set(encoder: Encoder, collection: Collection, **about: Any) -> EmbeddingSet:
    return work(begin(encoder, collection, **about))


def put_set(
    encoder: Encoder, collection: Collection, vectors: Any, *, state: str = RunState.DONE, **about: Any
) -> EmbeddingSet:
    """A set of these vectors in the order of the collection, as if a run had made it; in other states, one without."""
    run = Run.objects.create(
        is_shared=True,
        encoder=encoder,
        collection=collection,
        queue="gpu",
        state=state,
        created_at=NOW,
        started_at=NOW,
    )
    made = EmbeddingSet.objects.create(encoder=encoder, run=run, created_at=NOW, **about)
    if state != RunState.DONE:
        return made
    ids = np.array([image.pk for image in images_of(collection)[: len(vectors)]])
    order = np.argsort(ids)
    ids, rows = ids[order], np.array(vectors, dtype=made.precision)[order]
    made.rows, made.dimensions = rows.shape
    made.file, made.digest = f"embeddings/{made.pk}/whole/{VECTORS_FILE}", digest_of(ids, rows)
    made.save()
    for name, table in ((VECTORS_FILE, rows), (IDS_FILE, ids)):
        content = io.BytesIO()
        np.save(content, table)
        file_storage.put(f"embeddings/{made.pk}/whole/{name}", content.getvalue())
    return made


def put_training(samples: Mapping[Image, str], *, language: str = "en", **fields: Any) -> Training:
    """One that has ended, with what it wrote of these images."""
    about: dict[str, Any] = {"name": f"Training {next(_training_numbers)}", "options": TrainingOptions().as_dict()}
    about |= {"state": RunState.CANCELLED, "captions": 9, "images": 9, "validation_images": len(samples)}
    training = Training.objects.create(created_at=NOW, queue="gpu", **(about | fields))
    TrainingStep.objects.create(training=training, step=1, loss=1, learning_rate=1, images_per_s=1, memory=1)
    shown = [{"image": image.sha256, "language": language, "caption": text} for image, text in samples.items()]
    TrainingValidation.objects.create(training=training, step=1, loss=1, cider=1, samples=shown)
    return training
