"""Figures of captions from files as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crosslens_metrics.formats.pairs import Pairs
from crosslens_metrics.scoring import FIGURES, Scored


@dataclass(frozen=True)
class FileScores:
    """Captions from two files, and their figures."""

    pairs: Pairs
    scored: Sequence[Scored]

    def lines(self) -> Iterator[str]:
        """A table: each figure on the reference implementation's scale, as papers print it, and its signature."""
        references = sum(len(texts) for texts in self.pairs.references)
        yield f"{len(self.pairs.images):,} images, {references:,} references."
        if self.pairs.empty:
            yield f"Candidates that say nothing: {self.pairs.empty:,}. They were scored as they are."
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
        for image, *of_image in zip(self.pairs.images, *values, strict=True):
            yield "\t".join([image, *(f"{value:.6f}" for value in of_image)])

    def as_json(self, *, per_image: bool) -> dict[str, Any]:
        """Values as they are, unrounded; per image where it is asked for."""
        report: dict[str, Any] = {
            "images": len(self.pairs.images),
            "references": sum(len(texts) for texts in self.pairs.references),
            "empty_candidates": self.pairs.empty,
            "corpus": {scored.metric: scored.scores.corpus for scored in self.scored},
            "signatures": {scored.metric: str(scored.signature) for scored in self.scored},
        }
        if per_image:
            names = [scored.metric for scored in self.scored]
            values = [scored.scores.per_image.tolist() for scored in self.scored]
            rows = zip(self.pairs.images, *values, strict=True)
            report["per_image"] = {image: dict(zip(names, row, strict=True)) for image, *row in rows}
        return report
