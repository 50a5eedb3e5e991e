"""(ours) When answers look scripted. Managers see it; nothing is refused, deleted or left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from numpy.lib.stride_tricks import sliding_window_view

READING_S = 1.5
"""Nobody reads two captions, however short, and answers faster than this."""
LETTERS_PER_S, CHARACTERS_PER_S = 50.0, 15.0
"""About three times as fast as people read aloud fluently, for letters and for Chinese and Japanese characters.

Source: S. Trauzettel-Klosinski and K. Dietz (2012), Standardized assessment of reading performance (IReST): 863 letters
a minute on average over 17 languages, 255 characters in Chinese, 357 in Japanese.
"""
DENSE_SCRIPTS = frozenset({"Hani", "Hira", "Kana"})
FAST_ANSWERS, AMONG = 10, 50
STEADY_ANSWERS, STEADY_SPREAD = 30, 0.1


class JudgingScriptRule(TextChoices):
    FAST = "fast", _("Ten or more of 50 answers in a row came faster than anyone can read the two captions")
    STEADY = (
        "steady",
        _("Thirty answers in a row took nearly the same time (standard deviation below 10 percent of the mean)"),
    )


def reading_s(characters: int, scripts: Collection[str]) -> float:
    """Return the fewest seconds in which anybody reads `characters` of two captions and answers.

    `scripts` are the ISO 15924 codes of the language's scripts.
    """
    rate = CHARACTERS_PER_S if DENSE_SCRIPTS & set(scripts) else LETTERS_PER_S
    return max(READING_S, characters / rate)


def rules_broken(
    seconds: Sequence[float], reading: Sequence[float] | float = READING_S
) -> dict[JudgingScriptRule, str]:
    """Return the rules that somebody's answers break, with the evidence.

    `seconds` are the times of the answers, `reading` the fewest seconds that reading each of the pairs takes.
    """
    taken = np.asarray(seconds, dtype=float)
    broken: dict[JudgingScriptRule, str] = {}
    fast = np.flatnonzero(taken < np.asarray(reading, dtype=float))
    if (fast[FAST_ANSWERS - 1 :] - fast[: 1 - FAST_ANSWERS] < AMONG).any():
        broken[JudgingScriptRule.FAST] = f"{len(fast)} / {len(taken)}"
    if len(taken) >= STEADY_ANSWERS:
        rows = sliding_window_view(taken, STEADY_ANSWERS)
        means, spreads = rows.mean(axis=1), rows.std(axis=1)
        steadiest = int((spreads - STEADY_SPREAD * means).argmin())
        if spreads[steadiest] < STEADY_SPREAD * means[steadiest]:
            broken[JudgingScriptRule.STEADY] = f"{means[steadiest]:.2f} s ± {spreads[steadiest]:.2f} s"
    return broken
