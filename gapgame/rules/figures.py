"""The figures of a report, why one may have no value, and mean similarity over equal samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.reports.figures import AbsentFigure, ReportFigure, random_stream
from crosslens_metrics.sampling.designs import SamplingDesign
from crosslens_metrics.sampling.intervals import Interval, middle_of, share_interval
from crosslens_metrics.sampling.resampling import subset_sums
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
    UndefinedReason.RESAMPLES_UNDEFINED: _("There are too few values: the figure is undefined in some of the draws."),
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

    `interval` is exact (Clopper-Pearson): other turns with these players, as if turns were independent. `over_players`
    is that over other players like these, taken whole with all their turns (`sampling.variance.ratio_bounds`).
    """

    count: int
    total: int
    percent: float
    interval: Interval
    over_players: Interval | UndefinedFigure


@dataclass(frozen=True)
class TurnMean(ReportFigure):
    """A mean, with Student's 95% interval (observations independent) and one over players."""

    count: int
    mean: float
    interval: Interval | UndefinedFigure
    over_players: Interval | UndefinedFigure


def share_of_turns(
    count: int, total: int, over_players: Interval | UndefinedFigure, design: SamplingDesign | None = None
) -> TurnShare:
    interval = share_interval(count, total)
    percent = Interval(100 * interval.low, 100 * interval.high, design)
    return TurnShare(count, total, 100 * count / total, percent, over_players)


def varied(low: float, high: float, design: SamplingDesign | None = None) -> Interval | UndefinedFigure:
    """Return the interval, or that there is one unit only, or that all are alike."""
    # Not a number is not below another.
    return Interval(low, high, design) if low < high else UndefinedFigure(UndefinedReason.NO_VARIATION)


@dataclass(frozen=True)
class ResampledFigure(ReportFigure):
    """The mean of a figure over many draws, and the middle 95% of them: how much it depends on the draw."""

    mean: float
    interval: Interval


@dataclass(frozen=True)
class EqualGuesses(ReportFigure):
    """The mean similarity of each attempt; `split` is empty for all splits together."""

    split: str
    similarity: tuple[ResampledFigure | UndefinedFigure, ...]


@dataclass(frozen=True)
class EqualSamples(ReportFigure):
    """`size` guesses of each attempt in each split, drawn repeatedly without replacement."""

    size: int
    resamples: int
    overall: EqualGuesses
    splits: tuple[EqualGuesses, ...]


def resampled(values: NDArray[np.float64]) -> ResampledFigure:
    return ResampledFigure(float(values.mean()), middle_of(values))


def equal_samples(
    similarity: NDArray[np.float64],
    split_of: NDArray[np.int_],
    splits: Sequence[tuple[int, str]],
    *,
    resamples: int,
    seed: int,
    missing: UndefinedFigure,
) -> EqualSamples | UndefinedFigure:
    """Draw as many guesses of every split and attempt as the least of them has.

    Later attempts have fewer guesses, as are splits that were played less; drawn alike, neither weighs more. An attempt
    that nobody made in a split has no figure there, nor over all splits.

    - `similarity`: shape (n_turns, n_attempts): from 0 to 1; NaN where there was no guess.
    - `split_of`: shape (n_turns,).
    - `splits`: in the order of the answer.
    - `missing`: the answer where there is no guess at all.
    """
    guesses = {
        (split, attempt): column[~np.isnan(column)]
        for code, split in splits
        for attempt, column in enumerate(similarity[split_of == code].T)
    }
    sizes = [len(values) for values in guesses.values() if len(values)]
    if not sizes:
        return missing
    size = min(sizes)
    means = {
        (split, attempt): subset_sums(
            values[:, None], size=size, resamples=resamples, rng=random_stream(seed, f"equal samples {split} {attempt}")
        )[:, 0]
        / size
        for (split, attempt), values in guesses.items()
        if len(values)
    }
    attempts, none = range(similarity.shape[1]), UndefinedFigure(TurnReason.NO_GUESSES)

    def figure(attempt: int, *names: str) -> ResampledFigure | UndefinedFigure:
        drawn = [means.get((name, attempt)) for name in names]
        known = [values for values in drawn if values is not None]
        return resampled(np.mean(known, axis=0)) if len(known) == len(drawn) else none

    names = [split for _code, split in splits]
    return EqualSamples(
        size,
        resamples,
        EqualGuesses("", tuple(figure(attempt, *names) for attempt in attempts)),
        tuple(EqualGuesses(name, tuple(figure(attempt, name) for attempt in attempts)) for name in names),
    )
