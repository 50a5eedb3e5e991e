"""What a step of a training follows from: its learning rate, its captions, and their images, prepared in threads."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from research.inference.backends.feature_decoder import ImageFeatures
from research.inference.backends.memory import in_halves
from research.inference.backends.transformer_captioner import TrainableCaptioner
from research.inference.training.options import RateSchedule, TrainingOptions

FEATURES_AT_ONCE = 16
"""Images whose features are computed together."""
KEPT_IMAGES = 512 << 20
"""Bytes of prepared images kept in memory, so that small sets are read once."""
ReadImage = Callable[[str], Image.Image]


def learning_rate(options: TrainingOptions, step: int) -> float:
    """The learning rate of a step, counted from 1."""
    if step <= options.warmup_steps:
        return options.learning_rate * step / options.warmup_steps
    rest = max(1, options.steps - options.warmup_steps)
    share = (step - 1 - options.warmup_steps) / rest
    if options.schedule == RateSchedule.LINEAR:
        return options.learning_rate * (1 - share)
    if options.schedule == RateSchedule.COSINE:
        return options.learning_rate * (1 + math.cos(math.pi * share)) / 2
    return options.learning_rate


def examples_of_step(options: TrainingOptions, examples: int, step: int) -> list[int]:
    """The places of a step's captions: epochs in an order of their own follow one another without a gap."""
    first = (step - 1) * options.batch_size
    orders: dict[int, Any] = {}
    places = []
    for number in range(first, first + options.batch_size):
        epoch, place = divmod(number, examples)
        if epoch not in orders:
            orders[epoch] = np.random.default_rng([options.seed, epoch]).permutation(examples)
        places.append(int(orders[epoch][place]))
    return places


class PreparedImages:
    """Reads and prepares images in threads, and keeps them while there is room.

    Of a captioner that sees features only, these are stored in `folder`: images are read once.
    """

    def __init__(
        self, captioner: TrainableCaptioner, read_image: ReadImage, readers: ThreadPoolExecutor, folder: Path
    ) -> None:
        self._captioner, self._read_image, self._readers = captioner, read_image, readers
        self._features: Any = getattr(captioner, "features", None)
        self._folder = folder
        self._kept: dict[str, Any] = {}
        self._room = KEPT_IMAGES

    def prepared(self, names: Sequence[str]) -> list[Any]:
        missing = [name for name in dict.fromkeys(names) if name not in self._kept]
        made = self._stored(missing) if self._features else list(self._readers.map(self._prepare, missing))
        found = dict(zip(missing, made, strict=True))
        rows = [found[name] if name in found else self._kept[name] for name in names]
        for name, one in found.items():
            size = getattr(one, "nbytes", KEPT_IMAGES)
            if size <= self._room:
                self._kept[name], self._room = one, self._room - size
        return rows

    def _prepare(self, name: str) -> Any:
        return self._captioner.prepare(self._read_image(name))

    def _stored(self, names: Sequence[str]) -> list[ImageFeatures]:
        found = {name: row for name in names if (row := self._read(name)) is not None}
        missing = [name for name in names if name not in found]

        def compute(chosen: slice) -> list[ImageFeatures]:
            return list(self._features(list(self._readers.map(self._prepare, missing[chosen]))))

        rows, _size = in_halves(compute, len(missing), size=FEATURES_AT_ONCE)
        for name, row in zip(missing, rows, strict=True):
            self._write(name, row)
            found[name] = row
        return [found[name] for name in names]

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.npy"

    def _read(self, name: str) -> ImageFeatures | None:
        try:
            return ImageFeatures(np.load(self._path(name), allow_pickle=False))
        except (OSError, ValueError, EOFError):
            return None

    def _write(self, name: str, row: ImageFeatures) -> None:
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Later readers find the whole file or none.
        partial = path.with_suffix(f".{os.getpid()}")
        with partial.open("wb") as file:
            np.save(file, row.row, allow_pickle=False)
        partial.replace(path)
