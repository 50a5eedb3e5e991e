"""A turn as reports see it, and the rules that leave turns out of their figures. Nothing is ever deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from crosslens_metrics.reports.figures import ReportFigure
from gapgame.rules.play import ATTEMPTS

SPLITS = tuple(f"intersect_{number}" for number in range(5))
SOLVED = tuple(f"attempt_{number}" for number in range(1, ATTEMPTS + 1))
FAILED = "failed"
OUTCOMES = (*SOLVED, FAILED)
"""How a turn counts. One that was skipped or cut off and is kept counts as failed: the word was not found."""
SKIPPED, CUT_OFF = "skipped", "cut_off"
ALL_OUTCOMES = (*OUTCOMES, SKIPPED, CUT_OFF)


class PlayedTurn(NamedTuple):
    """One player on one item. Unknown texts are empty, and other unknown values None."""

    outcome: str
    split: str
    item: str = ""
    word: str = ""
    player: str = ""
    image: str = ""
    language: str = ""
    similarities: tuple[float, ...] | None = None
    """Similarities of the guesses, in order, each from 0 to 1; the word itself has 1. None: unknown."""
    guesses: tuple[str, ...] | None = None
    is_marked: bool = False
    is_set_aside: bool = False
    opened_at: datetime | None = None


class TurnRule(StrEnum):
    """Rules by which a turn is left out of the figures; the names are those of `--keep`."""

    SKIPPED = "skipped"
    CUT_OFF = "cut_off"
    SCRIPTED = "scripted"
    SET_ASIDE = "set_aside"
    NO_ATTEMPT = "no_attempt"
    DUPLICATE = "duplicate"


RULES: dict[TurnRule, Promise] = {
    TurnRule.SKIPPED: _("the player skipped the sentence"),
    TurnRule.CUT_OFF: _("the season ended before the turn did"),
    TurnRule.SCRIPTED: _("the turn is marked as scripted play"),
    TurnRule.SET_ASIDE: _("a manager set the player aside"),
    TurnRule.NO_ATTEMPT: _("the player made no guess"),
    TurnRule.DUPLICATE: _("the player had the item before: only the first turn counts"),
}


@dataclass(frozen=True)
class FilteredTurns(ReportFigure):
    """How many turns a rule applies to, and how many it left out that no earlier rule had left out."""

    rule: TurnRule
    says: str
    matched: int
    left_out: int
    is_kept: bool


def filtered_turns(
    turns: Sequence[PlayedTurn], *, keep: Collection[str]
) -> tuple[NDArray[np.bool_], tuple[FilteredTurns, ...]]:
    """Return which turns count, and what each rule did. A rule named in `keep` leaves nothing out."""
    counts = np.ones(len(turns), dtype=bool)
    applied = []
    for rule, matches in _matches(turns).items():
        is_kept = rule in keep
        leaves_out = np.zeros_like(counts) if is_kept else counts & matches
        counts &= ~leaves_out
        applied.append(FilteredTurns(rule, str(RULES[rule]), int(matches.sum()), int(leaves_out.sum()), is_kept))
    return counts, tuple(applied)


def turns_of_counts(counts: Mapping[str, Mapping[str, int]]) -> list[PlayedTurn]:
    """Make turns that have only split and outcome, from counts of outcomes by split."""
    return [
        turn
        for split, of_split in counts.items()
        for outcome in OUTCOMES
        for turn in [PlayedTurn(outcome, split)] * of_split[outcome]
    ]


def _matches(turns: Sequence[PlayedTurn]) -> dict[TurnRule, NDArray[np.bool_]]:
    def column(values: Iterable[bool]) -> NDArray[np.bool_]:
        return np.fromiter(values, dtype=bool, count=len(turns))

    return {
        TurnRule.SKIPPED: column(turn.outcome == SKIPPED for turn in turns),
        TurnRule.CUT_OFF: column(turn.outcome == CUT_OFF for turn in turns),
        TurnRule.SCRIPTED: column(turn.is_marked for turn in turns),
        TurnRule.SET_ASIDE: column(turn.is_set_aside for turn in turns),
        TurnRule.NO_ATTEMPT: column(turn.similarities == () for turn in turns),
        TurnRule.DUPLICATE: _previously_seen(turns),
    }


def _previously_seen(turns: Sequence[PlayedTurn]) -> NDArray[np.bool_]:
    """Return turns on an item that their player has had before, by opening time if all have one, else in order."""
    order = range(len(turns))
    opened = [turn.opened_at for turn in turns]
    if all(opened):
        order = sorted(order, key=lambda place: opened[place])  # type: ignore[assignment,arg-type,return-value]
    seen: set[tuple[str, str]] = set()
    before = np.zeros(len(turns), dtype=bool)
    for place in order:
        turn = turns[place]
        if not turn.player or not turn.item:
            continue
        key = (turn.player, turn.item)
        before[place] = key in seen
        seen.add(key)
    return before
