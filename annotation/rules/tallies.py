"""The columns of a tally: sums over one person's answers in one round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from crosslens_metrics.caption_stats import words_and_characters

LENGTH_STEP = 10
"""Characters."""


@dataclass(frozen=True, kw_only=True)
class TallyAnswer:
    """A caption with the rating before it, or, without a `text`, a rating of somebody else's caption.

    If it does not count, only its time and `is_late` matter.
    """

    batch: Hashable
    at: datetime
    counts: bool
    is_late: bool
    rating: str
    rating_ms: int
    writing_ms: int = 0
    text: str = ""
    warnings: Sequence[str] = ()


@dataclass(kw_only=True)
class TallySums:
    """The columns of a tally, by name."""

    batches: int = 0
    captions: int = 0
    late: int = 0
    rating_ms: int = 0
    writing_ms: int = 0
    words: int = 0
    characters: int = 0
    ratings: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    days: dict[str, int] = field(default_factory=dict)
    last_at: datetime | None = None

    @property
    def minutes_per_caption(self) -> float | None:
        """Return the active minutes from opening the image to the last change; None if nothing was written."""
        return (self.rating_ms + self.writing_ms) / 60_000 / self.captions if self.captions else None

    @property
    def overridden(self) -> int:
        return sum(self.warnings.values())


COUNT_COLUMNS = ("batches", "captions", "late", "rating_ms", "writing_ms", "words", "characters")
TABLE_COLUMNS = ("ratings", "warnings", "lengths", "days")
COLUMNS = (*COUNT_COLUMNS, *TABLE_COLUMNS, "last_at")


def sums_of(answers: Iterable[TallyAnswer]) -> TallySums:
    sums = TallySums()
    batches: set[Hashable] = set()
    ratings, warnings, lengths, days = (Counter[str]() for _ in range(4))
    for answer in answers:
        sums.last_at = max(sums.last_at or answer.at, answer.at)
        sums.late += answer.is_late
        if not answer.counts:
            continue
        batches.add(answer.batch)
        sums.captions += 1
        sums.rating_ms += answer.rating_ms
        sums.writing_ms += answer.writing_ms
        ratings[answer.rating] += 1
        warnings.update(answer.warnings)
        days[answer.at.astimezone(UTC).date().isoformat()] += 1
        if answer.text:
            words, characters = words_and_characters(answer.text)
            sums.words += words
            sums.characters += characters
            lengths[str(characters // LENGTH_STEP * LENGTH_STEP)] += 1
    sums.batches = len(batches)
    sums.ratings, sums.warnings, sums.lengths, sums.days = map(dict, (ratings, warnings, lengths, days))
    return sums


def sums_as_json(sums: TallySums) -> dict[str, Any]:
    """Return sums as JSON may hold them; see `sums_from_json`."""
    return asdict(sums) | {"last_at": sums.last_at.isoformat() if sums.last_at else None}


def sums_from_json(stored: Mapping[str, Any]) -> TallySums:
    at = stored["last_at"]
    return TallySums(**dict(stored, last_at=datetime.fromisoformat(at) if at else None))


def total_sums(each: Iterable[TallySums]) -> TallySums:
    """Add up answers that share no batch."""
    known = list(each)
    if len(known) == 1:
        return replace(known[0])
    sums = TallySums()
    for name in COUNT_COLUMNS:
        setattr(sums, name, sum(getattr(one, name) for one in known))
    for one in known:
        for name in TABLE_COLUMNS:
            if added := getattr(one, name):
                table = getattr(sums, name)
                for key, count in added.items():
                    table[key] = table.get(key, 0) + count
        if one.last_at:
            sums.last_at = max(sums.last_at or one.last_at, one.last_at)
    return sums
