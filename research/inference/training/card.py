"""The model card of a trained captioner, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crosslens_metrics.word_vectors import signature_of
from research.inference.training.checkpoints import ValidationRecord
from research.inference.training.examples import TrainingExample, digest_of
from research.inference.training.options import TrainingOptions

CARD = "README.md"


@dataclass(frozen=True)
class Provenance:
    """What a model was made from: enough to make it again.

    - `base` and `base_files`: the model that was trained, and a digest of its files or its commit.
    - `data`: SHA-256 of the captions for training and validation.
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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def run(self) -> str:
        """The signature of checkpoints: what is trained, on what, and how.

        Another version of the code may resume them.
        """
        return signature_of({"base": self.base_files, "data": self.data, "options": self.options})


def provenance(
    base: str,
    described: Mapping[str, str],
    *,
    training: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    options: TrainingOptions,
    code: str,
) -> Provenance:
    """Say what a model is made from; `described` is what the loaded base says of itself."""
    return Provenance(
        base=base,
        base_files=described.get("revision") or f"files {described['files']}",
        data=digest_of([*training, *validation]),
        captions=dict(sorted(Counter(example.language for example in training).items())),
        images=len({example.image for example in training}),
        validation_images=len({example.image for example in validation}),
        options=options.as_dict(),
        code=code,
        versions=described["versions"],
    )


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
languages), loss {best.loss:.4f}.

| images for training | images for validation |
| --- | --- |
| {made.images:,} | {made.validation_images:,} |

No image was in both.

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
