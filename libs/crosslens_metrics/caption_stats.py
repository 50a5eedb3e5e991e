"""How long captions are and how many each image has, per language: the columns of the published table.

Words are what whitespace separates, characters are code points as stored, spaces included; nothing is normalised, and
captions that are the same count each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import floor

from crosslens_metrics.formats.xm3600 import ImageCaptions

COLUMNS = (
    "language",
    "captions",
    "images_with_1",
    "images_with_2",
    "images_with_3_or_more",
    "mean_words",
    "mean_chars",
)


@dataclass(kw_only=True)
class CaptionStatistics:
    """What is known of one language. Sums, so that lots of captions that share no image can be added."""

    captions: int = 0
    images_with_1: int = 0
    images_with_2: int = 0
    images_with_3_or_more: int = 0
    words: int = 0
    characters: int = 0

    def add(self, captions: Sequence[str]) -> None:
        """Count all captions of one image."""
        self.captions += len(captions)
        self.images_with_1 += len(captions) == 1
        self.images_with_2 += len(captions) == 2
        self.images_with_3_or_more += len(captions) >= 3
        for text in captions:
            words, characters = words_and_characters(text)
            self.words += words
            self.characters += characters

    @property
    def mean_words(self) -> float | None:
        """Words per caption, to one decimal; None where there is no caption."""
        return mean_to_one_decimal(self.words, self.captions)

    @property
    def mean_characters(self) -> float | None:
        return mean_to_one_decimal(self.characters, self.captions)

    def as_columns(self) -> dict[str, int | float | None]:
        """The columns of the published table, by its names."""
        columns: dict[str, int | float | None] = asdict(self)
        del columns["words"], columns["characters"]
        return columns | {"mean_words": self.mean_words, "mean_chars": self.mean_characters}


def words_and_characters(text: str) -> tuple[int, int]:
    return len(text.split()), len(text)


def mean_to_one_decimal(total: int, count: int) -> float | None:
    """Rounded from the exact quotient; half a tenth goes up."""
    return floor(Fraction(10 * total, count) + Fraction(1, 2)) / 10 if count else None


def statistics_of(images: Iterable[ImageCaptions]) -> dict[str, CaptionStatistics]:
    """By the tag of the language, in its order. A language that has lists but no caption is there with zeros."""
    statistics: dict[str, CaptionStatistics] = {}
    for image in images:
        for tag, captions in image.by_language().items():
            statistics.setdefault(tag, CaptionStatistics()).add(captions)
    return dict(sorted(statistics.items()))
