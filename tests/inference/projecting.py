"""Tiny projections of captions into a space of image features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from crosslens_metrics.named_vectors import NamedVectors
from research.inference.projections.folder import ProjectionConfig, ProjectionManifest
from research.inference.projections.training import TrainingData, train

TINY = ProjectionConfig(recurrent=8, hidden=16, batch=4, epochs=4, word_dimensions=6)


def tiny_task(**changes) -> TrainingData:
    rng = np.random.default_rng(7)
    images = [f"image-{number}" for number in range(9)]
    features = NamedVectors(tuple(images), rng.normal(size=(9, 5)).astype(np.float32), "made-up-1", "made-up-1")
    captions = [f"a {colour} {thing}" for colour in ("red", "blue", "green") for thing in ("dog", "cat", "boat")]
    task = TrainingData(
        captions=captions,
        images=images,
        features=features,
        vectors=None,
        language="en",
        text="whitespace-1+norm-1",
        tokenizer="whitespace",
        normalise=True,
    )
    return replace(task, **changes)


def trained(
    folder: Path, task: TrainingData | None = None, config: ProjectionConfig = TINY, *, resume: bool = False
) -> ProjectionManifest:
    return train(task or tiny_task(), config, folder, resume=resume, progress=lambda epoch, loss: None)
