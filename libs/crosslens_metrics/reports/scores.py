"""Figures of captions from files as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crosslens_metrics.scored_tokens import EmptyTexts
from crosslens_metrics.scoring import FIGURES, PreparedCaptions, ScoredFigure


@dataclass(frozen=True)
class FileScores:
    """The images of files, their captions as they were scored, and the figures."""

    images: Sequence[str]
    prepared: PreparedCaptions
    scored: Sequence[ScoredFigure]

    @property
    def notes(self) -> list[str]:
        """What should be known of the figures, each once."""
        return list(dict.fromkeys(note for scored in self.scored for note in scored.notes))

    @property
    def n_references(self) -> int:
        against = self.prepared.against
        return sum(len(texts) for texts in against.references) if against else 0

    def lines(self) -> Iterator[str]:
        """A table: each figure on the reference implementation's scale, as papers print it, and its signature."""
        yield f"{len(self.images):,} images, {self.n_references:,} references."
        against = self.prepared.against
        if against and (against.empty.candidates or against.empty.references):
            yield f"Without a token: candidates {against.empty.candidates:,}, references {against.empty.references:,}."
        yield ""
        yield f"{'metric':<10} {'value':>11} {'as printed':>11}  signature"
        for scored in self.scored:
            figure, value = FIGURES[scored.metric], scored.scores.corpus
            printed = value * figure.shown_times
            yield f"{figure.title:<10} {value:>11.6f} {printed:>11.2f}  {scored.signature}"
        yield ""
        if any(scored.metric == "cider-d" for scored in self.scored):
            yield "What the public COCO tool calls CIDEr is CIDEr-D."
        yield "“as printed” is the value times 100, as papers have it; BMRC and WCC are sums on that scale."

    def image_lines(self) -> Iterator[str]:
        """The value of each image, in columns parted by tabs."""
        yield "\t".join(["image", *(scored.metric for scored in self.scored)])
        values = [scored.scores.per_image.tolist() for scored in self.scored]
        for image, *of_image in zip(self.images, *values, strict=True):
            yield "\t".join([image, *(f"{value:.6f}" for value in of_image)])

    def as_json(self, *, per_image: bool) -> dict[str, Any]:
        """Values as they are, unrounded; per image where it is asked for."""
        empty = self.prepared.against.empty if self.prepared.against else EmptyTexts(0, 0, 0)
        report: dict[str, Any] = {
            "images": len(self.images),
            "references": self.n_references,
            "empty_candidates": empty.candidates,
            "empty_references": empty.references,
            "corpus": {scored.metric: scored.scores.corpus for scored in self.scored},
            "signatures": {scored.metric: str(scored.signature) for scored in self.scored},
            "notes": self.notes,
        }
        if per_image:
            names = [scored.metric for scored in self.scored]
            values = [scored.scores.per_image.tolist() for scored in self.scored]
            rows = zip(self.images, *values, strict=True)
            report["per_image"] = {image: dict(zip(names, row, strict=True)) for image, *row in rows}
        return report
