"""What one person's answers in one round add up to: the columns of a tally, from answers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from metrics.caption_stats import words_and_characters

LENGTH_STEP = 10
"""Characters."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A caption with the rating before it, or, without a `text`, a rating of somebody else's caption.

    Of one that does not `counts`, only when it came and whether it `is_late` matters.
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
class Sums:
    """The columns of a tally, by its names."""

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


COLUMNS = tuple(column.name for column in fields(Sums))


def sums_of(answers: Iterable[Answer]) -> Sums:
    sums = Sums()
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


def together(one: Sums, other: Sums) -> Sums:
    """Of two lots of answers that share no batch."""
    return Sums(**{name: _added(getattr(one, name), getattr(other, name)) for name in COLUMNS})


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return dict(Counter(one) + Counter(other))
    if isinstance(one, int):
        return one + other
    return max((at for at in (one, other) if at is not None), default=None)
