"""The folder of a training: its checkpoints, and the curve of its steps and validations.

A checkpoint is a folder of its own, and `last.json` or `best.json` names it once it is whole: the last and the best are
kept, whatever is interrupted.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.encoders import torch
from research.inference.projections.folder import replacing
from research.inference.training.options import TrainingError

WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.pt", "state.json"
LAST, BEST = "last", "best"
SPARE = 1.05
"""Of a checkpoint's size, for the file system's own."""
CURVE = "curve.jsonl"


class TrainingCheckpoints:
    """The checkpoints in a training's folder.

    - `run`: signature of the training; those of another one are refused.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self._folder, self._run = folder, run

    def save(
        self, kind: str, step: int, weights: Mapping[str, Any], state: Mapping[str, Any], optimiser: Any = None
    ) -> None:
        """Save a checkpoint, and forget the earlier one of its kind.

        Raises TrainingError where the disk has no room for it; the earlier one stays.
        """
        from safetensors.torch import save_file

        self._check_room(weights, optimiser)
        # A name of its own: one of the same step may be what `last.json` or `best.json` still needs.
        folder = Path(tempfile.mkdtemp(prefix=f"{kind}-{step:08d}-", dir=self._folder))
        try:
            save_file({name: value.detach().cpu().contiguous() for name, value in weights.items()}, folder / WEIGHTS)
            if optimiser is not None:
                torch().save(optimiser, folder / OPTIMISER)
            content = json.dumps({"run": self._run, "step": step, **state}, ensure_ascii=False)
            (folder / STATE).write_text(content, encoding="utf-8")
            for path in folder.iterdir():
                _sync(path)
            _sync(folder)
            with replacing(self._folder / f"{kind}.json") as partial:
                partial.write_text(json.dumps({"folder": folder.name}), encoding="utf-8")
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_room(self._folder) from error
            raise
        for other in self._folder.glob(f"{kind}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)

    def state(self, kind: str) -> dict[str, Any] | None:
        """Read what a checkpoint says of itself, or None if there is none.

        Raises TrainingError where it belongs to another training or cannot be read.
        """
        folder = self._named(kind)
        if folder is None:
            return None
        try:
            state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
            run = state["run"]
        except (OSError, ValueError, KeyError) as error:
            raise TrainingError(
                _("The checkpoint %(folder)s cannot be read (%(error)s). Train from the start in another folder.")
                % {"folder": folder, "error": error}
            ) from error
        if run != self._run:
            raise TrainingError(
                _(
                    "%(folder)s belongs to a training with another model, other captions or other options. Give those, "
                    "or another folder."
                )
                % {"folder": self._folder}
            )
        return state

    def weights(self, kind: str) -> dict[str, Any]:
        from safetensors.torch import load_file

        folder = self._named(kind)
        assert folder is not None
        loaded: dict[str, Any] = load_file(folder / WEIGHTS)
        return loaded

    def optimiser(self) -> Any:
        folder = self._named(LAST)
        assert folder is not None
        return torch().load(folder / OPTIMISER, map_location="cpu", weights_only=True)

    def forget(self) -> None:
        """Delete all of them, once the model is exported."""
        for kind in (LAST, BEST):
            (self._folder / f"{kind}.json").unlink(missing_ok=True)
            for folder in self._folder.glob(f"{kind}-*"):
                shutil.rmtree(folder, ignore_errors=True)

    def _named(self, kind: str) -> Path | None:
        try:
            name = json.loads((self._folder / f"{kind}.json").read_text(encoding="utf-8"))["folder"]
        except FileNotFoundError:
            return None
        return self._folder / str(name)

    def _check_room(self, weights: Mapping[str, Any], optimiser: Any) -> None:
        size = sum(value.numel() * value.element_size() for value in weights.values())
        # AdamW keeps two numbers of each weight.
        wanted = SPARE * size * (3 if optimiser is not None else 1)
        if shutil.disk_usage(self._folder).free < wanted:
            raise _no_room(self._folder)


def _no_room(folder: Path) -> TrainingError:
    return TrainingError(
        _("The disk of %(folder)s has no room for a checkpoint. The last one is kept: make room and resume.")
        % {"folder": folder}
    )


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@dataclass(frozen=True)
class StepRecord:
    """A step: mean loss of a token, learning rate, images of a second, and bytes of memory at most."""

    step: int
    loss: float
    learning_rate: float
    images_per_s: float
    memory: int


@dataclass(frozen=True)
class SampleCaption:
    image: str
    language: str
    caption: str


@dataclass(frozen=True)
class ValidationRecord:
    """A validation: CIDEr on the x100 scale, as the mean over languages and of each."""

    step: int
    loss: float
    cider: float
    languages: dict[str, float]
    samples: list[SampleCaption]


def write_line(folder: Path, line: dict[str, Any]) -> None:
    with (folder / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def cut_curve(folder: Path, *, after: int) -> None:
    """Forget what was written after a checkpoint: it is done again."""
    path = folder / CURVE
    lines = [line for line in _whole_lines(path) if json.loads(line)["step"] <= after]
    path.write_text("".join(lines), encoding="utf-8")


def read_curve(folder: Path, *, until: float = math.inf) -> tuple[list[StepRecord], list[ValidationRecord]]:
    """Read the curve of a training from its folder, up to a step."""
    steps, validations = [], []
    for line in _whole_lines(folder / CURVE):
        values = json.loads(line)
        if values["step"] > until:
            break
        if "validation" in values:
            validations.append(validation_of(values["validation"]))
        else:
            steps.append(StepRecord(**values))
    return steps, validations


def validation_of(values: dict[str, Any]) -> ValidationRecord:
    return ValidationRecord(**values | {"samples": [SampleCaption(**sample) for sample in values["samples"]]})


def _whole_lines(path: Path) -> list[str]:
    """A killed process may leave half a line at the end."""
    if not path.is_file():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
