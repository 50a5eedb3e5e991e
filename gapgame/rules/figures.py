"""The figures of a report, and why one may have no value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crosslens_metrics.intervals import Interval, share_interval
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.reports.figures import AbsentFigure, ReportFigure
from crosslens_metrics.undefined import UndefinedReason


class TurnReason(StrEnum):
    """Reasons specific to reports, besides those of `crosslens_metrics.undefined.UndefinedReason`."""

    NO_TURNS = "no_turns"
    NO_GUESSES = "no_guesses"
    NO_SIMILARITIES = "no_similarities"
    NO_PLAYERS = "no_players"
    ONE_PLAYER = "one_player"
    ONE_SPLIT = "one_split"
    NO_VECTORS = "no_vectors"
    NO_COMMON_ITEMS = "no_common_items"


MESSAGES: dict[UndefinedReason | TurnReason, str] = {
    UndefinedReason.NO_VARIATION: _(
        "There is only one value, or all are the same, so there is no variation to estimate an interval from."
    ),
    UndefinedReason.RESAMPLES_UNDEFINED: _(
        "There are too few values: the figure is undefined in some bootstrap resamples."
    ),
    TurnReason.NO_TURNS: _("No turns count here."),
    TurnReason.NO_GUESSES: _("Nobody made this attempt."),
    TurnReason.NO_SIMILARITIES: _("The turns give outcomes, but not how close the guesses were."),
    TurnReason.NO_PLAYERS: _("Some turns do not name their player."),
    TurnReason.ONE_PLAYER: _("All turns are by one player, so they do not show how players differ."),
    TurnReason.ONE_SPLIT: _("There are turns from only one split, so there are no sizes to equalise."),
    TurnReason.NO_VECTORS: _("No word vectors were given."),
    TurnReason.NO_COMMON_ITEMS: _("No turn that counts is on an item with a prediction."),
}


@dataclass(frozen=True)
class UndefinedFigure(AbsentFigure):
    messages = MESSAGES
    reason: UndefinedReason | TurnReason


value_or_reason = UndefinedFigure.value_or_reason


@dataclass(frozen=True)
class TurnShare(ReportFigure):
    """A share in percent, with two 95% intervals.

    `interval` is exact (Clopper-Pearson) and assumes independent trials; `over_players` is a bootstrap over players,
    with all their turns, and does not.
    """

    count: int
    total: int
    percent: float
    interval: Interval
    over_players: Interval | UndefinedFigure


@dataclass(frozen=True)
class TurnMean(ReportFigure):
    """A mean, with Student's 95% interval (observations independent) and one from a bootstrap over players."""

    count: int
    mean: float
    interval: Interval | UndefinedFigure
    over_players: Interval | UndefinedFigure


def share_of_turns(count: int, total: int, over_players: Interval | UndefinedFigure) -> TurnShare:
    interval = share_interval(count, total)
    return TurnShare(count, total, 100 * count / total, Interval(100 * interval.low, 100 * interval.high), over_players)


def varied(low: float, high: float) -> Interval | UndefinedFigure:
    """Return a bootstrap's interval, or that its resamples are all alike."""
    return Interval(low, high) if low < high else UndefinedFigure(UndefinedReason.NO_VARIATION)
