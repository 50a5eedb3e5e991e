"""What a guess is worth (J. Wang et al. 2022, MultiSubs), how turns end and add up, and which play looks scripted."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from statistics import fmean, pstdev

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

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
LEVELS = (14, 19, 24)
"""Widths of the ranges of totals in which players are counted, 2**L millionths: 0.016 to 16.8 points."""
MIN_PAUSE = timedelta(seconds=1)
"""The shortest time for a guess after the sentence or hint; an earlier guess is refused and costs no attempt."""
LOOKED_AT = 50
"""How many of the player's last turns the rules consider."""
READING_S = 1.5
FAST_TURNS = 10
STEADY_GUESSES, STEADY_SPREAD = 30, 0.1
KNOWING_TURNS, KNOWING_SHARE = 40, 0.95
SAME_TURNS, SAME_SHARE = 20, 0.5
TIRELESS, BREAK = timedelta(hours=6), timedelta(minutes=5)


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


def percent_below(lower: int, players: int) -> int:
    """Return the percentage of all `players` with a lower total, rounded down: it is never 100."""
    return 100 * lower // players if players else 0


class TurnScriptRule(TextChoices):
    """(ours) When play looks scripted. Such play is marked for managers to check, never deleted.

    The rules are published with the game; changing one changes who is marked from then on, not who was.
    """

    FAST = "fast", _("In ten or more of the last 50 turns, the first guess came within 1.5 seconds of the sentence")
    STEADY = (
        "steady",
        _(
            "Thirty or more guesses in the last 50 turns took nearly the same time (standard deviation below 10 "
            "percent of the mean)"
        ),
    )
    KNOWING = "knowing", _("At least 95 percent of the last 40 or more words were found at the first guess")
    SAME = "same", _("In at least half of the last 20 or more turns, the first guess was the same word")
    TIRELESS = "tireless", _("Six hours of play without a break of five minutes")


@dataclass(frozen=True)
class FinishedTurn:
    """A finished turn: its guesses with the seconds each took, and whether the first was right."""

    opened_at: datetime
    finished_at: datetime
    guesses: tuple[str, ...]
    seconds: tuple[float, ...]
    is_found_at_once: bool

    @property
    def is_fast(self) -> bool:
        """Nobody reads a sentence, thinks of a word and types it faster than this."""
        return bool(self.seconds) and self.seconds[0] < READING_S


def rules_broken(turns: Sequence[FinishedTurn], *, on_end_since: datetime | None = None) -> dict[TurnScriptRule, str]:
    """Return the rules that a player's last turns (at most LOOKED_AT) break, each with its evidence.

    `on_end_since` is when the player last took a break.
    """
    broken: dict[TurnScriptRule, str] = {}
    guessed = [turn for turn in turns if turn.guesses]
    fast = sum(turn.is_fast for turn in guessed)
    if fast >= FAST_TURNS:
        broken[TurnScriptRule.FAST] = f"{fast} / {len(guessed)}"
    seconds = [each for turn in guessed for each in turn.seconds]
    if len(seconds) >= STEADY_GUESSES and pstdev(seconds) < STEADY_SPREAD * fmean(seconds):
        broken[TurnScriptRule.STEADY] = f"{len(seconds)}: {fmean(seconds):.2f} s ± {pstdev(seconds):.2f} s"
    at_once = sum(turn.is_found_at_once for turn in guessed)
    if len(guessed) >= KNOWING_TURNS and at_once >= KNOWING_SHARE * len(guessed):
        broken[TurnScriptRule.KNOWING] = f"{at_once} / {len(guessed)}"
    if len(guessed) >= SAME_TURNS:
        (word, times), *_others = Counter(normalised_word(turn.guesses[0]) for turn in guessed).most_common(1)
        if times >= SAME_SHARE * len(guessed):
            broken[TurnScriptRule.SAME] = f"{word}: {times} / {len(guessed)}"
    if on_end_since and guessed and guessed[-1].finished_at - on_end_since >= TIRELESS:
        broken[TurnScriptRule.TIRELESS] = f"{guessed[-1].finished_at - on_end_since}"
    return broken
