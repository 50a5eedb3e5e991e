"""The figures of a report, and why one may have no value."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from crosslens_metrics.intervals import Interval, share_interval
from crosslens_metrics.reports.figures import Absent, Figure
from crosslens_metrics.undefined import Reason, UndefinedFigureError

T = TypeVar("T")


class Missing(StrEnum):
    """Reasons specific to reports, besides those of `crosslens_metrics.undefined.Reason`."""

    NO_TURNS = "no_turns"
    NO_GUESSES = "no_guesses"
    NO_SIMILARITIES = "no_similarities"
    NO_PLAYERS = "no_players"
    ONE_PLAYER = "one_player"
    ONE_SPLIT = "one_split"
    NO_VECTORS = "no_vectors"
    NO_COMMON_ITEMS = "no_common_items"


MESSAGES: dict[Reason | Missing, Promise] = {
    Reason.NO_VARIATION: _(
        "There is only one value, or all are the same, so there is no variation to estimate an interval from."
    ),
    Reason.RESAMPLES_UNDEFINED: _("There are too few values: the figure is undefined in some bootstrap resamples."),
    Missing.NO_TURNS: _("No turns count here."),
    Missing.NO_GUESSES: _("Nobody made this attempt."),
    Missing.NO_SIMILARITIES: _("The turns give outcomes, but not how close the guesses were."),
    Missing.NO_PLAYERS: _("Some turns do not name their player."),
    Missing.ONE_PLAYER: _("All turns are by one player, so they do not show how players differ."),
    Missing.ONE_SPLIT: _("There are turns from only one split, so there are no sizes to equalise."),
    Missing.NO_VECTORS: _("No word vectors were given."),
    Missing.NO_COMMON_ITEMS: _("No turn that counts is on an item with a prediction."),
}


@dataclass(frozen=True)
class Undefined(Absent):
    reason: Reason | Missing

    @property
    def message(self) -> str:
        return str(MESSAGES[self.reason])


@dataclass(frozen=True)
class Share(Figure):
    """A share in percent, with two 95% intervals.

    `interval` is exact (Clopper-Pearson) and assumes independent trials; `over_players` is a bootstrap over players,
    with all their turns, and does not.
    """

    count: int
    total: int
    percent: float
    interval: Interval
    over_players: Interval | Undefined


@dataclass(frozen=True)
class Mean(Figure):
    """A mean, with Student's 95% interval (observations independent) and one from a bootstrap over players."""

    count: int
    mean: float
    interval: Interval | Undefined
    over_players: Interval | Undefined


def defined(figure: Callable[[], T]) -> T | Undefined:
    """Return the value of `figure`, or why it has none."""
    try:
        return figure()
    except UndefinedFigureError as undefined:
        return Undefined(undefined.reason)


def share(count: int, total: int, over_players: Interval | Undefined) -> Share:
    interval = share_interval(count, total)
    return Share(count, total, 100 * count / total, Interval(100 * interval.low, 100 * interval.high), over_players)


def stream(seed: int, figure: str) -> np.random.Generator:
    """Return the random numbers of one figure."""
    return np.random.default_rng([seed % 2**64, zlib.crc32(figure.encode())])
