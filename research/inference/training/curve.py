"""The curve of a training: its steps and validations, a line each in its folder."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CURVE = "curve.jsonl"


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
