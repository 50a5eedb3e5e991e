"""What a guess is worth, when it is the word, and when a turn is over (J. Wang et al. 2022, MultiSubs)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal

from crosslens_metrics.hidden_characters import visible_text
from crosslens_metrics.text import lower_case

ATTEMPTS = 3
MICRO = 1_000_000
"""Scores are whole millionths of a point: their sums are exact, in any order and on any database."""

WEIGHT_PERCENT = (100, 90, 80)
"""The weights of the first, second and third attempt."""

NEAR_MISS = 600_000
"""(ours) The least similarity of a wrong guess that is called close."""

MAX_GUESS_CHARACTERS = 100


def normalised_word(word: str, *, language: str = "") -> str:
    """(ours) Normalise a word for comparison: NFKC, case folded as its language writes, trimmed, single spaces.

    Hidden characters are no part of it.
    """
    small = lower_case(unicodedata.normalize("NFKC", visible_text(word)), language=language)
    return " ".join(unicodedata.normalize("NFKC", small.casefold()).split())


def is_exact(guess: str, word: str, *, language: str = "") -> bool:
    return normalised_word(guess, language=language) == normalised_word(word, language=language)


def similarity_in_millionths(similarity: float) -> int:
    """Return a similarity, cut to [0, 1], in whole millionths."""
    cut = min(1.0, max(0.0, similarity))
    return int((Decimal(cut) * MICRO).to_integral_value(rounding=ROUND_HALF_EVEN))


def attempt_score(number: int, similarity: int) -> int:
    """Return the score of attempt `number` (from 1) with `similarity`, both in millionths; halves round to even."""
    exact = Decimal(similarity * WEIGHT_PERCENT[number - 1]) / 100
    return int(exact.to_integral_value(rounding=ROUND_HALF_EVEN))


def turn_score(scores: Iterable[int]) -> int:
    """Return the best attempt's score; zero if there was none."""
    return max(scores, default=0)


def points_shown(score: int) -> int:
    """Return a score in millionths as players see it: of 100 a turn, rounded down, so that none is overstated."""
    return 100 * score // MICRO


def is_near_miss(similarity: int) -> bool:
    return similarity >= NEAR_MISS


def images_shown(attempts_made: int, images: int, *, is_finished: bool = False) -> int:
    """Return how many images are visible: none before the first guess, one before the second, then all."""
    if is_finished or attempts_made >= 2:
        return images
    return min(attempts_made, images)
