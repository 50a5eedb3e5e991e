"""The model card of a trained captioner, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.training.trainer import ValidationRecord


@dataclass(frozen=True)
class Provenance:
    """What a model was made from: enough to make it again.

    Attributes
    ----------
    base, base_files : str
        The model that was trained, and a digest of its files or its commit.
    data : str
        SHA-256 of the captions for training and validation.
    """

    base: str
    base_files: str
    data: str
    captions: Mapping[str, int]
    images: int
    validation_images: int
    options: Mapping[str, Any]
    code: str
    versions: str


def model_card(name: str, made: Provenance, best: ValidationRecord) -> str:
    """Write the card: what the model is, what it learned from, and how good it was in validation."""
    rows = "\n".join(
        f"| {tag} | {count:,} | {_figure(best.languages.get(tag))} |" for tag, count in made.captions.items()
    )
    options = "\n".join(f"| `{option}` | {value} |" for option, value in made.options.items())
    return f"""# {name}

A captioning model, trained from **{made.base}**.

| language | captions for training | CIDEr in validation |
| --- | --- | --- |
{rows}

These are the weights after step {best.step:,}, the best in validation: CIDEr {best.cider:.1f} (×100, the mean over
languages), loss {best.loss:.4f}. Validation had {made.validation_images:,} images, training {made.images:,}; none was
in both.

## How it was made

| | |
| --- | --- |
| base | {made.base} ({made.base_files}) |
| captions | SHA-256 {made.data} |
| code | {made.code} |
| versions | {made.versions} |
{options}

## Limits

CIDEr compares with the captions of the validation images only. The model may repeat what is wrong or unfair in its
training captions and in its base. The licences of both apply.
"""


def _figure(value: float | None) -> str:
    return "not validated" if value is None else f"{value:.1f}"
