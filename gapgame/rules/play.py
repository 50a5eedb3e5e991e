"""What a guess is worth, when it is the word, and when a turn is over (J. Wang et al. 2022, MultiSubs)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal

ATTEMPTS = 3
MICRO = 1_000_000
"""Scores are whole millionths of a point: sums of them are exact, in whatever order and on whatever database."""

WEIGHT_PERCENT = (100, 90, 80)
"""What the first, second and third attempt count."""

NEAR_MISS = 600_000
"""(ours) From this similarity on a wrong guess is called close."""

LONGEST_GUESS = 100


def normalised(word: str) -> str:
    """(ours) Two words are the same word when this is the same: NFKC, case folded, trimmed, single spaces."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return " ".join(folded.split())


def is_exact(guess: str, word: str) -> bool:
    return normalised(guess) == normalised(word)


def millionths(similarity: float) -> int:
    """A similarity, cut to [0, 1], as whole millionths."""
    cut = min(1.0, max(0.0, similarity))
    return int((Decimal(cut) * MICRO).to_integral_value(rounding=ROUND_HALF_EVEN))


def attempt_score(number: int, similarity: int) -> int:
    """The score of attempt `number` (from 1) with `similarity`, both in millionths; halves go to the even one."""
    exact = Decimal(similarity * WEIGHT_PERCENT[number - 1]) / 100
    return int(exact.to_integral_value(rounding=ROUND_HALF_EVEN))


def turn_score(scores: Iterable[int]) -> int:
    """The best attempt's; nothing where there was none."""
    return max(scores, default=0)


def points(score: int) -> int:
    """A score in millionths as players see it: of 100 a turn, rounded down, so that none shown was not reached."""
    return 100 * score // MICRO


def is_near_miss(similarity: int) -> bool:
    return similarity >= NEAR_MISS


def images_shown(attempts_made: int, images: int, *, is_finished: bool = False) -> int:
    """How many images may be seen: none before the first guess, one before the second, then all."""
    if is_finished or attempts_made >= 2:
        return images
    return min(attempts_made, images)
