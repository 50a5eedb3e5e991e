"""Rules for judgements, from values alone: positions of attention items, and who is paused."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

GOLD_PERCENT, REPEAT_PERCENT = 10, 5
"""(ours) What a new comparison begins with: attention items per 100 pairs."""
MIN_GAP = 5
"""(ours) The fewest trials between a pair and its repeat in one batch."""


def are_equal(base: str, test: str) -> bool:
    """(ours) Compare captions in NFC, ignoring white space at the ends and its length."""
    return _plain(base) == _plain(test)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass(frozen=True)
class PlannedTrial:
    """A trial at one position of a batch: a pair by its index, a gold pair, or the repeat of a pair by its index.

    A repeat whose `pair` is None repeats a judgement from an earlier batch.
    """

    kind: str
    pair: int | None = None


def attention_count(size: int, percent: int, rng: Random) -> int:
    """Return how many attention items a batch of `size` pairs gets: `percent` of the pairs on average."""
    whole, rest = divmod(size * percent, 100)
    return whole + (rng.randrange(100) < rest)


def plan_trials(size: int, *, golds: int, old_repeats: int, new_repeats: int, rng: Random) -> list[PlannedTrial]:
    """Return the order of a batch: `size` pairs with attention items mixed in.

    `old_repeats` are of earlier batches and go anywhere; `new_repeats` are of this batch, as many of them as fit with
    `MIN_GAP` trials in between.
    """
    planned = [PlannedTrial("pair", index) for index in range(size)]
    for extra in [PlannedTrial("gold")] * golds + [PlannedTrial("repeat")] * old_repeats:
        planned.insert(rng.randrange(len(planned) + 1), extra)
    early = [trial for trial in planned[: max(0, len(planned) - MIN_GAP)] if trial.kind == "pair"]
    # From the latest original on, as inserting one behind an earlier original only makes gaps longer.
    for original in sorted(rng.sample(early, min(new_repeats, len(early))), key=planned.index, reverse=True):
        first = planned.index(original) + MIN_GAP + 1
        planned.insert(rng.randrange(first, len(planned) + 1), PlannedTrial("repeat", original.pair))
    return planned


def has_failed(kind: str, score: int, first_score: int | None) -> bool:
    """(ours) Return whether an item failed: the better gold caption was not chosen, or a repeat contradicts."""
    if kind == "gold":
        return score <= 0
    return first_score is not None and score * first_score < 0


def must_pause(failures: Sequence[bool], *, checks_before_pause: int, failures_percent: int) -> bool:
    """Return whether a manager has to look at a rater with these outcomes of attention items."""
    checks = len(failures)
    return checks >= checks_before_pause and 100 * sum(failures) > failures_percent * checks
