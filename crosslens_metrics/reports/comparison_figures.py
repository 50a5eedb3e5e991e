"""The figures of a report, and why one may have no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from crosslens_metrics.intervals import Interval, share_interval
from crosslens_metrics.messages import gettext
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.ranking import Bound
from crosslens_metrics.reports.figures import Absent, Figure
from crosslens_metrics.undefined import Reason, UndefinedFigureError

T = TypeVar("T")


class Missing(StrEnum):
    """Reasons that only a report knows, besides those of `crosslens_metrics.undefined.Reason`."""

    NO_SIDE_PREFERRED = "no_side_preferred"
    NO_REPEATS = "no_repeats"
    NO_TIMES = "no_times"


MESSAGES: dict[Reason | Missing, str] = {
    Reason.NO_IMAGES: _("No image has all its judgements yet."),
    Reason.NO_DECIDED: _("No image has a majority for either model, so there is nothing to test."),
    Reason.NO_VARIATION: _("All resamples of the images give the same figure, so they show no uncertainty."),
    Reason.NO_PAIR_OF_RATINGS: _("No image was judged by two raters, so agreement cannot be measured."),
    Reason.ALL_RATINGS_EQUAL: _("All judgements are the same, so agreement cannot be distinguished from chance."),
    Reason.RESAMPLES_UNDEFINED: _("There are too few images: the figure is undefined in some bootstrap resamples."),
    Reason.MODELS_NOT_CONNECTED: _("Some models were never compared with the others, even indirectly."),
    Reason.MODEL_NEVER_LOSES: _("Some models never lost an image to the others, so their lead cannot be measured."),
    Reason.NO_MODELS: _("There are no models to rank."),
    Reason.STRENGTH_UNBOUNDED: _("One side won every image, so the judgements cannot say how large the lead is."),
    Reason.GROUP_UNBOUNDED: _(
        "Every comparison between its group and other models is one-sided, so the judgements cannot say how large the "
        "lead is."
    ),
    Reason.NOT_COMPARED: _(
        "The two were never compared, and judgements against other models cannot say how large the lead is."
    ),
    Reason.NOT_CONVERGED: _("The estimation of the strengths did not converge."),
    Reason.NO_DIFFERENCE: _("The images show no difference that more images could confirm."),
    Missing.NO_SIDE_PREFERRED: _("No judgement with a known side prefers one."),
    Missing.NO_REPEATS: _("No pair was shown a second time to the same rater."),
    Missing.NO_TIMES: _("No judgement says how long it took."),
}


BOUNDS: dict[Bound, str] = {
    Bound.NEVER_LOST: _("never lost"),
    Bound.NEVER_WON: _("never won"),
    Bound.GROUP: _("won all or lost all against each model outside its group"),
}
"""Marks of models whose strength only the prior keeps finite."""


def bound_message(bound: Bound) -> str:
    """The mark of a model, or nothing where judgements bound its strength."""
    return gettext(BOUNDS[bound]) if bound in BOUNDS else ""


@dataclass(frozen=True)
class Undefined(Absent):
    reason: Reason | Missing

    @property
    def message(self) -> str:
        return gettext(MESSAGES[self.reason])


@dataclass(frozen=True)
class Part(Figure):
    """Some of the images of the denominator."""

    count: int
    percent: float | Undefined


@dataclass(frozen=True)
class Share(Figure):
    """A share of trials with its exact (Clopper-Pearson) 95% interval, both in percent."""

    count: int
    total: int
    percent: float
    interval: Interval


@dataclass(frozen=True)
class Gain(Figure):
    """WINS − LOSSES, and its 95% bootstrap interval over images, both in percentage points."""

    points: float
    interval: Interval | Undefined


@dataclass(frozen=True)
class SignTest(Figure):
    p: float
    decided: int


@dataclass(frozen=True)
class Precision(Figure):
    """How many images, and how many more than now, an interval of `width_points` takes."""

    width_points: float
    images: int
    more: int


@dataclass(frozen=True)
class Signature(Figure):
    """Two reports may be compared where this is the same, seed aside."""

    method: str
    version: int
    replication: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Images(Figure):
    """`denominator` = complete + counted_similar; beside it `incomplete` images, by how many judgements they have."""

    denominator: int
    complete: int
    counted_similar: int
    incomplete: int
    incomplete_by_judgements: Mapping[int, int]
    beyond_replication: int
    """Complete images with more judgements than asked for, all of which count."""


@dataclass(frozen=True)
class Alpha(Figure):
    """Ordinal Krippendorff's alpha over the images that two raters or more judged, incomplete ones included (ours)."""

    images: int
    value: float
    interval: Interval | Undefined


@dataclass(frozen=True)
class Times(Figure):
    judgements: int
    median: float
    quartiles: Interval


@dataclass(frozen=True)
class FlipShares(Figure):
    """Of repeats: how many have the same sign (a tie is one) as the first time, and how many the opposite."""

    same: Share | Undefined
    opposite: Share | Undefined


@dataclass(frozen=True)
class RaterFigures(Figure):
    rater: str
    judgements: int
    left: Share | Undefined
    """Of the judgements that prefer a side, how many prefer the left one."""
    flips: FlipShares
    seconds_median: float | Undefined


@dataclass(frozen=True)
class Outcome(Figure):
    """The gain over some images."""

    images: Images
    wins: Part
    losses: Part
    neither: Part
    gain: Gain | Undefined
    sign_test: SignTest | Undefined


@dataclass(frozen=True)
class RegionOutcome(Figure):
    """`region` is empty for images whose region is unknown."""

    region: str
    outcome: Outcome


@dataclass(frozen=True)
class Report(Figure):
    signature: Signature
    judgements: int
    set_aside: int
    """Judgements that were made and do not count."""
    outcome: Outcome
    precision: Precision | Undefined
    alpha: Alpha | Undefined
    distribution: Mapping[int, int]
    """How many judgements gave each score."""
    left: Share | Undefined
    flips: FlipShares
    seconds: Times | Undefined
    raters: tuple[RaterFigures, ...]
    regions: tuple[RegionOutcome, ...]


@dataclass(frozen=True)
class Summary(Figure):
    """What a table of many comparisons shows of one: the same figures as in its report."""

    outcome: Outcome
    alpha: float | Undefined


def defined(figure: Callable[[], T]) -> T | Undefined:
    """What `figure` gives, or why it gives nothing."""
    try:
        return figure()
    except UndefinedFigureError as undefined:
        return Undefined(undefined.reason)


def share(count: int, total: int, missing: Missing) -> Share | Undefined:
    if not total:
        return Undefined(missing)
    interval = share_interval(count, total)
    return Share(count, total, 100 * count / total, Interval(100 * interval.low, 100 * interval.high))
