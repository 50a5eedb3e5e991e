"""Mean similarity of attempts over as many guesses of every split and attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.clusters import subset_sums
from crosslens_metrics.intervals import Interval, middle_of
from crosslens_metrics.reports.figures import ReportFigure, random_stream
from gapgame.rules.figures import TurnReason, UndefinedFigure


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

    Parameters
    ----------
    similarity : ndarray, shape (n_turns, n_attempts)
        From 0 to 1; NaN where there was no guess.
    split_of : ndarray of int, shape (n_turns,)
    splits : sequence of (code, name)
        In the order of the answer.
    missing : Undefined
        The answer where there is no guess at all.
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
