"""What a report is made of: figures that are there, or say why they are not, and how both become JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from metrics.intervals import Interval, share_interval
from metrics.undefined import Reason, UndefinedFigure

T = TypeVar("T")


class Missing(StrEnum):
    """Reasons that only a report knows, besides those of `metrics.undefined.Reason`."""

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
        "There is one value only, or all are the same: they do not show by how much the figure would vary."
    ),
    Reason.RESAMPLES_UNDEFINED: _("There is too little: in some resamples the figure has no value."),
    Missing.NO_TURNS: _("No turn is counted here."),
    Missing.NO_GUESSES: _("Nobody made this attempt here."),
    Missing.NO_SIMILARITIES: _("The turns say how they ended, and not how near the guesses were."),
    Missing.NO_PLAYERS: _("Some turns do not say who played them."),
    Missing.ONE_PLAYER: _("All turns are of one player, so they do not show how players differ."),
    Missing.ONE_SPLIT: _("There are turns of one split only, so there is nothing to make equal."),
    Missing.NO_VECTORS: _("No word vectors were given."),
    Missing.NO_COMMON_ITEMS: _("No turn that counts is of an item of these predictions."),
}


class Figure:
    """Base of all parts of a report."""

    def as_json(self) -> dict[str, Any]:
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Undefined(Figure):
    """Stands where a figure has no value; `reason` is a stable code."""

    reason: Reason | Missing

    @property
    def message(self) -> Promise:
        return MESSAGES[self.reason]

    def as_json(self) -> dict[str, Any]:
        return {"undefined": str(self.reason), "message": str(self.message)}


@dataclass(frozen=True)
class Share(Figure):
    """A share in percent, with two 95% intervals.

    `interval` is exact (Clopper-Pearson) and takes the trials for independent; `over_players` is a bootstrap over
    players, with all their turns, and does not.
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
    """What `figure` gives, or why it gives nothing."""
    try:
        return figure()
    except UndefinedFigure as undefined:
        return Undefined(undefined.reason)


def share(count: int, total: int, over_players: Interval | Undefined) -> Share:
    interval = share_interval(count, total)
    return Share(count, total, 100 * count / total, Interval(100 * interval.low, 100 * interval.high), over_players)


def as_json(value: Any) -> Any:
    """`value` of plain JSON types: no NaN, no infinity."""
    if isinstance(value, Figure):
        return value.as_json()
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("A figure without a value must be Undefined.")
    return value
