"""(ours) When answers look scripted. Managers see it; nothing is refused, deleted or left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from numpy.lib.stride_tricks import sliding_window_view

READING_S = 1.5
FAST_ANSWERS, AMONG = 10, 50
STEADY_ANSWERS, STEADY_SPREAD = 30, 0.1


class Rule(TextChoices):
    FAST = "fast", _("Ten or more of 50 answers in a row took less than 1.5 seconds each")
    STEADY = (
        "steady",
        _("Thirty answers in a row took nearly the same time (standard deviation below 10 percent of the mean)"),
    )


def rules_broken(seconds: Sequence[float]) -> dict[Rule, str]:
    """Return the rules that somebody's answers break, with the evidence; `seconds` are the times of the answers."""
    taken = np.asarray(seconds, dtype=float)
    broken: dict[Rule, str] = {}
    fast = np.flatnonzero(taken < READING_S)
    if (fast[FAST_ANSWERS - 1 :] - fast[: 1 - FAST_ANSWERS] < AMONG).any():
        broken[Rule.FAST] = f"{len(fast)} / {len(taken)}"
    if len(taken) >= STEADY_ANSWERS:
        rows = sliding_window_view(taken, STEADY_ANSWERS)
        means, spreads = rows.mean(axis=1), rows.std(axis=1)
        steadiest = int((spreads - STEADY_SPREAD * means).argmin())
        if spreads[steadiest] < STEADY_SPREAD * means[steadiest]:
            broken[Rule.STEADY] = f"{means[steadiest]:.2f} s ± {spreads[steadiest]:.2f} s"
    return broken
