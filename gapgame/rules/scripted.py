"""(ours) When play looks scripted. Such play is marked for managers to check, never deleted.

The rules are published with the game; changing one changes who is marked from then on, not who was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, pstdev

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from gapgame.rules.play import normalised_word

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


class TurnScriptRule(TextChoices):
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
