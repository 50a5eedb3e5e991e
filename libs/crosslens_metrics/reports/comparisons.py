"""Figures over several comparisons: one gain of them all, and an order of many models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import gains, ranking
from crosslens_metrics.reports.comparison import DecidedImages, gain_figure
from crosslens_metrics.reports.comparison_figures import GainFigure, SignTest, UndefinedComparison, value_or_reason
from crosslens_metrics.reports.figures import ReportFigure, random_stream
from crosslens_metrics.sampling import significance
from crosslens_metrics.sampling.intervals import Interval, percentile_interval
from crosslens_metrics.undefined import UndefinedReason

RANKING_METHOD = "bradley-terry"
RANKING_VERSION = 2
MIN_RANKED = 3
"""Models: of two, the gain says it all."""
RANKING_RESAMPLES = 1_000
"""(ours) At most: each takes a fit, and the bounds of an interval move by little after so many."""


@dataclass(frozen=True)
class ModelContest:
    """The outcomes of one comparison. Images with the same name in several contests are the same image."""

    base: str
    test: str
    decided: DecidedImages


@dataclass(frozen=True)
class PooledGain(ReportFigure):
    """The gain over all outcomes (one per image and comparison); resampled are images, with all their comparisons.

    `comparisons` counts those that have outcomes.

    The sign test is over images, each with the sign of the sum of its outcomes, since outcomes of one image are not
    independent.
    """

    comparisons: int
    images: int
    outcomes: int
    wins: int
    losses: int
    gain: GainFigure | UndefinedComparison
    sign_test: SignTest | UndefinedComparison


@dataclass(frozen=True)
class RankedModel(ReportFigure):
    """`strength` is a log-odds: a lead of 1 is odds of 2.7 to 1.

    Its mean is zero over the models of the component that judgements bound, over all where there is none. `bound` marks
    one that only the prior keeps finite; it has no interval. Nor has one that resamples bound too seldom; intervals of
    the others are of their distance from the mean of the others.
    """

    model: str
    strength: float | UndefinedComparison
    bound: ranking.StrengthBound
    interval: Interval | UndefinedComparison


@dataclass(frozen=True)
class RankedPair(ReportFigure):
    """`more_images` at which the interval of the difference would end at zero; none more where it is separable."""

    stronger: str
    weaker: str
    difference: float
    interval: Interval | UndefinedComparison
    separable: bool | UndefinedComparison
    images_needed: int | UndefinedComparison
    more_images: int | UndefinedComparison


@dataclass(frozen=True)
class RankingSignature(ReportFigure):
    """`prior_images` without a majority for each compared pair whose lead the judgements do not bound."""

    method: str
    version: int
    prior_images: float
    resamples: int
    seed: int


@dataclass(frozen=True)
class RankedComponent(ReportFigure):
    """Models that were compared with each other, if only by way of others; `models` from the strongest on.

    `resamples_unfitted` are left out of the models' intervals, since they do not bound all that have one.
    """

    images: int
    models: tuple[RankedModel, ...]
    pairs: tuple[RankedPair, ...]
    resamples_unfitted: int


@dataclass(frozen=True)
class ModelRanking(ReportFigure):
    """Several `components` where models were never compared: nothing is said of models of different ones."""

    signature: RankingSignature
    components: tuple[RankedComponent, ...]


def pool(decided: Sequence[DecidedImages], *, seed: int, resamples: int = 10_000) -> PooledGain:
    """All comparisons together: of the same two models in several languages, or on several sets of images.

    Parameters
    ----------
    decided : sequence of DecidedImages
        One for each comparison.
    seed : int
    resamples : int
        Of the bootstrap.

    Returns
    -------
    PooledGain
        In percentage points.
    """
    image = _numbers(decided)
    outcome = np.concatenate([np.zeros(0, dtype=np.int8), *(part.outcome for part in decided)])
    net = np.bincount(image, weights=outcome)

    def signs() -> SignTest:
        wins, losses = int((net > 0).sum()), int((net < 0).sum())
        return SignTest(significance.sign_test(wins, losses), wins + losses)

    def interval() -> Interval:
        return gains.pooled_gain_interval(image, outcome, resamples=resamples, rng=random_stream(seed, "pooled gain"))

    return PooledGain(
        comparisons=sum(len(part.outcome) > 0 for part in decided),
        images=len(net),
        outcomes=len(outcome),
        wins=int((outcome > 0).sum()),
        losses=int((outcome < 0).sum()),
        gain=value_or_reason(lambda: gain_figure(gains.pooled_gain(outcome), interval, _together(decided, image))),
        sign_test=value_or_reason(signs),
    )


def rank_models(
    contests: Sequence[ModelContest], *, seed: int, resamples: int = RANKING_RESAMPLES
) -> ModelRanking | None:
    """All models that were compared, by Bradley-Terry strength; an image without a majority is half a win to each.

    None where fewer models have outcomes than take a ranking.

    Parameters
    ----------
    contests : sequence of ModelContest
        One for each comparison.
    seed : int
    resamples : int
        Of the bootstrap.

    Returns
    -------
    ModelRanking or None
        In log-odds.
    """
    contests = [contest for contest in contests if len(contest.decided.outcome)]
    names = sorted({name for contest in contests for name in (contest.base, contest.test)})
    if len(names) < MIN_RANKED:
        return None
    resamples = min(resamples, RANKING_RESAMPLES)
    return ModelRanking(
        signature=RankingSignature(RANKING_METHOD, RANKING_VERSION, ranking.PRIOR_IMAGES, resamples, seed),
        components=tuple(
            _component(contests, [names[model] for model in models], seed, resamples)
            for models in ranking.components(ranking.win_table(_outcomes(contests, names), n_models=len(names)))
        ),
    )


def _outcomes(contests: Sequence[ModelContest], names: list[str]) -> ranking.RankingOutcomes:
    lengths = [len(contest.decided.outcome) for contest in contests]
    return ranking.RankingOutcomes(
        image=_numbers([contest.decided for contest in contests]),
        base=np.repeat([names.index(contest.base) for contest in contests], lengths),
        test=np.repeat([names.index(contest.test) for contest in contests], lengths),
        outcome=np.concatenate([contest.decided.outcome for contest in contests]),
    )


def _component(contests: Sequence[ModelContest], names: list[str], seed: int, resamples: int) -> RankedComponent:
    outcomes = _outcomes([contest for contest in contests if contest.base in names], names)
    table = ranking.win_table(outcomes, n_models=len(names))
    images = len(np.unique(outcomes.image))
    bounds = ranking.bounds(table)
    fitted = value_or_reason(lambda: ranking.bradley_terry(table + ranking.prior(table)))
    if isinstance(fitted, UndefinedComparison):
        models = (RankedModel(name, fitted, bound, fitted) for name, bound in zip(names, bounds, strict=True))
        return RankedComponent(images, tuple(models), (), 0)
    is_measured = np.array([bound == ranking.StrengthBound.JUDGEMENTS for bound in bounds])
    middle = is_measured if is_measured.any() else ~is_measured
    strengths = fitted - fitted[middle].mean()
    resampled = ranking.resampled_strengths(
        outcomes, n_models=len(names), resamples=resamples, rng=random_stream(seed, "strengths")
    )
    core = resampled.core()
    has_interval = core & is_measured if (core & is_measured).sum() > 1 else np.zeros_like(core)
    if has_interval.any():
        about = resampled.strengths[:, has_interval].mean(axis=1, keepdims=True)
        shift = fitted[has_interval].mean() - fitted[middle].mean()
        resampled = replace(resampled, strengths=resampled.strengths - about + shift)
    # Resamples of one-sided judgements are one-sided too: intervals from them would make the prior look certain.
    group_of = ranking.groups(table)
    order = [int(model) for model in np.argsort(-strengths, kind="stable")]

    def of_model(model: int) -> NDArray[np.float64] | UndefinedComparison:
        if not is_measured[model]:
            is_group = bounds[model] == ranking.StrengthBound.GROUP
            return UndefinedComparison(
                UndefinedReason.GROUP_UNBOUNDED if is_group else UndefinedReason.STRENGTH_UNBOUNDED
            )
        return resampled.of(core) if has_interval[model] else UndefinedComparison(UndefinedReason.RESAMPLES_UNDEFINED)

    def of_pair(pair: tuple[int, int]) -> NDArray[np.float64] | UndefinedComparison:
        if group_of[pair[0]] != group_of[pair[1]]:
            is_compared = table[pair] + table[pair[::-1]] > 0
            return UndefinedComparison(
                UndefinedReason.STRENGTH_UNBOUNDED if is_compared else UndefinedReason.NOT_COMPARED
            )
        both = np.isin(np.arange(len(names)), pair)
        return value_or_reason(lambda: resampled.of(core if core[both].all() else both))

    return RankedComponent(
        images=images,
        models=tuple(_model(names, model, strengths, bounds[model], of_model(model)) for model in order),
        pairs=tuple(_pair(names, *pair, strengths, of_pair(pair), images) for pair in combinations(order, 2)),
        resamples_unfitted=resampled.unfitted(core),
    )


def _together(decided: Sequence[DecidedImages], image: NDArray[np.int_]) -> DecidedImages:
    """Outcomes of several comparisons, with the number of each one's image."""
    starts = np.cumsum([0, *(len(part.outcome) for part in decided)])
    return DecidedImages(
        image,
        np.concatenate([part.outcome for part in decided]),
        np.concatenate([part.judged + start for part, start in zip(decided, starts, strict=False)]),
        np.concatenate([part.rater for part in decided]),
        np.concatenate([part.moved for part in decided]),
    )


def _numbers(decided: Sequence[DecidedImages]) -> NDArray[np.int_]:
    """One number per image, the same for the same image of another comparison."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for part in decided for name in part.image.tolist()], dtype=int)


def _model(
    names: list[str],
    model: int,
    strengths: NDArray[np.float64],
    bound: ranking.StrengthBound,
    resampled: NDArray[np.float64] | UndefinedComparison,
) -> RankedModel:
    interval = (
        resampled
        if isinstance(resampled, UndefinedComparison)
        else value_or_reason(lambda: percentile_interval(resampled[:, model]))
    )
    return RankedModel(names[model], float(strengths[model]), bound, interval)


def _pair(
    names: list[str],
    stronger: int,
    weaker: int,
    strengths: NDArray[np.float64],
    resampled: NDArray[np.float64] | UndefinedComparison,
    images: int,
) -> RankedPair:
    difference = float(strengths[stronger] - strengths[weaker])
    interval = (
        resampled
        if isinstance(resampled, UndefinedComparison)
        else value_or_reason(lambda: percentile_interval(resampled[:, stronger] - resampled[:, weaker]))
    )
    if isinstance(interval, UndefinedComparison):
        return RankedPair(names[stronger], names[weaker], difference, interval, interval, interval, interval)
    separable = not interval.holds(0)
    needed = value_or_reason(lambda: ranking.images_to_separate(difference, interval, images=images))
    more: int | UndefinedComparison = needed
    if separable:
        more = 0
    elif not isinstance(needed, UndefinedComparison):
        # Bounds from resamples are not quite symmetric: what is not separable takes one image more at least.
        more = max(1, needed - images)
    return RankedPair(names[stronger], names[weaker], difference, interval, separable, needed, more)
