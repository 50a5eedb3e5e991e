"""Figures over several comparisons: one gain of them all, and an order of many models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import gains, ranking
from crosslens_metrics.reports.comparison import MIN_RATERS, DecidedImages, gain_figure
from crosslens_metrics.reports.comparison_figures import (
    GainFigure,
    MeanGain,
    SignTest,
    UndefinedComparison,
    value_or_reason,
)
from crosslens_metrics.reports.figures import ReportFigure, random_stream
from crosslens_metrics.sampling import significance
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import LEVEL, Interval, student_interval
from crosslens_metrics.signatures import Signature, differences, together
from crosslens_metrics.undefined import UndefinedReason

POOLING_METHOD = "sxs-pooled"
POOLING_VERSION = 1
RANKING_METHOD = "bradley-terry"
RANKING_VERSION = 3
MIN_RANKED = 3
"""Models: of two, the gain says it all."""
NO_SIGNATURE = Signature("unknown", ())


@dataclass(frozen=True)
class ModelContest:
    """The outcomes of one comparison. Images with the same name in several contests are the same image."""

    base: str
    test: str
    decided: DecidedImages
    signature: Signature = NO_SIGNATURE


@dataclass(frozen=True)
class PooledGain(ReportFigure):
    """The gain over all outcomes (one per image and comparison); resampled are images, with all their comparisons.

    `comparisons` counts those that have outcomes, each of which weighs by its images; in `random_effects` they weigh
    the more alike, the more their gains differ.

    The sign test is over images, each with the sign of the sum of its outcomes, since outcomes of one image are not
    independent. `unlike` says in what the comparisons differ that should be the same.
    """

    signature: Signature
    unlike: tuple[str, ...]
    comparisons: int
    images: int
    outcomes: int
    wins: int
    losses: int
    gain: GainFigure | UndefinedComparison
    random_effects: MeanGain | UndefinedComparison
    sign_test: SignTest | UndefinedComparison


@dataclass(frozen=True)
class RankedModel(ReportFigure):
    """`strength` is a log-odds: a lead of 1 is odds of 2.7 to 1.

    Its mean is zero over the models of the component that judgements bound, over all where there is none. `bound` marks
    one that only the prior keeps finite; it has no interval. Nor has one that too few wins link with others. Intervals
    are of the distance from the mean of those that have one.
    """

    model: str
    strength: float | UndefinedComparison
    bound: ranking.StrengthBound
    interval: Interval | UndefinedComparison
    other_raters: Interval | UndefinedComparison


@dataclass(frozen=True)
class RankedPair(ReportFigure):
    """`interval` with these raters, `other_raters` with others like them; `p` by the primary of the two.

    `p_holm` is corrected for all pairs of the component, and `separable` follows it. `more_images` for an 80%
    chance that the interval of the difference leaves out zero; none more where it is separable.
    """

    stronger: str
    weaker: str
    difference: float
    interval: Interval | UndefinedComparison
    other_raters: Interval | UndefinedComparison
    p: float | UndefinedComparison
    p_holm: float | UndefinedComparison
    separable: bool | UndefinedComparison
    images_needed: int | UndefinedComparison
    more_images: int | UndefinedComparison


@dataclass(frozen=True)
class RankedComponent(ReportFigure):
    """Models that were compared with each other, if only by way of others; `models` from the strongest on.

    `unlike` says in what the comparisons differ that should be the same. The `prior` of the signature is so many images
    without a majority for each compared pair whose lead the judgements do not bound.
    """

    signature: Signature
    unlike: tuple[str, ...]
    images: int
    raters: int
    models: tuple[RankedModel, ...]
    pairs: tuple[RankedPair, ...]


@dataclass(frozen=True)
class ModelRanking(ReportFigure):
    """Several `components` where models were never compared: nothing is said of models of different ones."""

    components: tuple[RankedComponent, ...]


def pool(
    decided: Sequence[DecidedImages], *, seed: int, resamples: int = 10_000, signatures: Sequence[Signature] = ()
) -> PooledGain:
    """All comparisons together: of the same two models in several languages, or on several sets of images.

    Parameters
    ----------
    decided : sequence of DecidedImages
        One for each comparison.
    seed : int
    resamples : int
        Of the bootstrap.
    signatures : sequence of Signature
        Of the comparisons; those without outcomes are left out.

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

    def means() -> MeanGain:
        parts = [part.outcome for part in decided if len(part.outcome)]
        wins, losses = ([int((sign * part > 0).sum()) for part in parts] for sign in (1, -1))
        return MeanGain(*gains.random_effects(wins, losses, [len(part) for part in parts]))

    def interval() -> Interval:
        return gains.pooled_gain_interval(image, outcome, resamples=resamples, rng=random_stream(seed, "pooled gain"))

    known = signatures or [NO_SIGNATURE] * len(decided)
    parts = [one for one, part in zip(known, decided, strict=True) if len(part.outcome)]
    settings = {"v": POOLING_VERSION, "bootstrap": f"{resamples}/{seed}"}
    return PooledGain(
        signature=together(POOLING_METHOD, settings, parts),
        unlike=tuple(differences(*parts)),
        comparisons=sum(len(part.outcome) > 0 for part in decided),
        images=len(net),
        outcomes=len(outcome),
        wins=int((outcome > 0).sum()),
        losses=int((outcome < 0).sum()),
        gain=value_or_reason(lambda: gain_figure(gains.pooled_gain(outcome), interval, _together(decided, image))),
        random_effects=value_or_reason(means),
        sign_test=value_or_reason(signs),
    )


def rank_models(contests: Sequence[ModelContest]) -> ModelRanking | None:
    """All models that were compared, by Bradley-Terry strength; an image without a majority is half a win to each.

    None where fewer models have outcomes than take a ranking.

    Parameters
    ----------
    contests : sequence of ModelContest
        One for each comparison.

    Returns
    -------
    ModelRanking or None
        In log-odds.
    """
    contests = [contest for contest in contests if len(contest.decided.outcome)]
    names = sorted({name for contest in contests for name in (contest.base, contest.test)})
    if len(names) < MIN_RANKED:
        return None
    return ModelRanking(
        components=tuple(
            _component(contests, [names[model] for model in models])
            for models in ranking.components(ranking.win_table(_outcomes(contests, names), n_models=len(names)))
        ),
    )


def _outcomes(contests: Sequence[ModelContest], names: list[str]) -> ranking.RankingOutcomes:
    lengths = [len(contest.decided.outcome) for contest in contests]
    parts = [contest.decided for contest in contests]
    together = _together(parts, _numbers(parts))
    return ranking.RankingOutcomes(
        image=together.image,
        base=np.repeat([names.index(contest.base) for contest in contests], lengths),
        test=np.repeat([names.index(contest.test) for contest in contests], lengths),
        outcome=together.outcome,
        judged=together.judged,
        rater=np.unique(together.rater, return_inverse=True)[1],
        moved=together.moved,
    )


def _component(contests: Sequence[ModelContest], names: list[str]) -> RankedComponent:
    contests = [contest for contest in contests if contest.base in names]
    signatures = [contest.signature for contest in contests]
    about = {"v": RANKING_VERSION, "prior": ranking.PRIOR_IMAGES}
    signed = together(RANKING_METHOD, about, signatures), tuple(differences(*signatures))
    outcomes = _outcomes(contests, names)
    table = ranking.win_table(outcomes, n_models=len(names))
    images, raters = len(np.unique(outcomes.image)), len(np.unique(outcomes.rater))
    bounds = ranking.bounds(table)
    fitted = value_or_reason(lambda: ranking.bradley_terry(table + ranking.prior(table)))
    if isinstance(fitted, UndefinedComparison):
        models = (RankedModel(name, fitted, bound, fitted, fitted) for name, bound in zip(names, bounds, strict=True))
        return RankedComponent(*signed, images, raters, tuple(models), ())
    is_measured = np.array([bound == ranking.StrengthBound.JUDGEMENTS for bound in bounds])
    middle = is_measured if is_measured.any() else ~is_measured
    strengths = fitted - fitted[middle].mean()
    leads = _Leads(table, bounds, ranking.StrengthVariances(outcomes, fitted), strengths, images, raters)
    order = [int(model) for model in np.argsort(-strengths, kind="stable")]
    pairs = list(combinations(order, 2))
    plain = {pair: p for pair in pairs if isinstance(p := leads.p(*pair), float)}
    corrected = dict(zip(plain, significance.holm(list(plain.values())).tolist(), strict=True))
    return RankedComponent(
        *signed,
        images=images,
        raters=raters,
        models=tuple(
            RankedModel(names[model], float(strengths[model]), bounds[model], *leads.of_model(model)) for model in order
        ),
        pairs=tuple(_pair(names, leads, *pair, corrected.get(pair, 1.0), images) for pair in pairs),
    )


TwoIntervals = tuple[Interval | UndefinedComparison, Interval | UndefinedComparison]
"""With these raters, and with others like them."""


class _Leads:
    """The leads of models over each other, and over the mean of the largest set of well-linked models."""

    def __init__(
        self,
        table: NDArray[np.float64],
        bounds: list[ranking.StrengthBound],
        variances: ranking.StrengthVariances,
        strengths: NDArray[np.float64],
        images: int,
        raters: int,
    ) -> None:
        self._table, self._bounds, self._variances = table, bounds, variances
        self.strengths, self.raters = strengths, raters
        self._groups, self._linked = ranking.groups(table), ranking.well_linked(table)
        self._these = SamplingDesign(Method.STUDENT, {Factor.IMAGE: images}, {Factor.RATER: raters} if raters else {})
        self._others = SamplingDesign(Method.TWO_WAY, {Factor.IMAGE: images, Factor.RATER: raters})

    def of_model(self, model: int) -> TwoIntervals:
        if self._bounds[model] != ranking.StrengthBound.JUDGEMENTS:
            # What only the prior keeps finite would look certain.
            is_group = self._bounds[model] == ranking.StrengthBound.GROUP
            why = UndefinedReason.GROUP_UNBOUNDED if is_group else UndefinedReason.STRENGTH_UNBOUNDED
            return UndefinedComparison(why), UndefinedComparison(why)
        linked = self._linked == np.bincount(self._linked).argmax()
        if linked.sum() < 2 or not linked[model]:
            why = UndefinedReason.FEW_WINS
            return UndefinedComparison(why), UndefinedComparison(why)
        contrast = linked / -linked.sum()
        contrast[model] += 1
        return self._intervals(contrast, float(self.strengths[model]))

    def of_pair(self, one: int, other: int) -> TwoIntervals:
        if self._groups[one] != self._groups[other]:
            is_compared = self._table[one, other] + self._table[other, one] > 0
            why = UndefinedReason.STRENGTH_UNBOUNDED if is_compared else UndefinedReason.NOT_COMPARED
            return UndefinedComparison(why), UndefinedComparison(why)
        if self._linked[one] != self._linked[other]:
            why = UndefinedReason.FEW_WINS
            return UndefinedComparison(why), UndefinedComparison(why)
        return self._intervals(self._contrast(one, other), float(self.strengths[one] - self.strengths[other]))

    def primary(self, intervals: TwoIntervals) -> Interval | UndefinedComparison:
        """Of the interval with these raters and the one with others, the one that decides."""
        return intervals[self.raters >= MIN_RATERS]

    def p(self, one: int, other: int) -> float | UndefinedComparison:
        """The p-value of no lead, by the interval that decides, or why there is none."""
        interval = self.primary(self.of_pair(one, other))
        if isinstance(interval, UndefinedComparison):
            return interval
        is_others = self.raters >= MIN_RATERS
        variance = self._variances.with_other_raters if is_others else self._variances.with_these_raters
        lead = float(self.strengths[one] - self.strengths[other])
        return significance.student_p(lead, *variance(self._contrast(one, other)))

    def _contrast(self, one: int, other: int) -> NDArray[np.float64]:
        contrast = np.zeros(len(self.strengths))
        contrast[one], contrast[other] = 1, -1
        return contrast

    def _intervals(self, contrast: NDArray[np.float64], value: float) -> TwoIntervals:
        def these() -> Interval:
            return student_interval(value, *self._variances.with_these_raters(contrast)).of(self._these)

        def others() -> Interval:
            return student_interval(value, *self._variances.with_other_raters(contrast)).of(self._others)

        return value_or_reason(these), value_or_reason(others)


def _pair(names: list[str], leads: _Leads, stronger: int, weaker: int, corrected: float, images: int) -> RankedPair:
    """`corrected` is the p-value after Holm's correction for all pairs."""
    difference = float(leads.strengths[stronger] - leads.strengths[weaker])
    intervals = leads.of_pair(stronger, weaker)
    primary = leads.primary(intervals)
    p = leads.p(stronger, weaker)
    if isinstance(primary, UndefinedComparison):
        return RankedPair(names[stronger], names[weaker], difference, *intervals, *[primary] * 5)
    separable = corrected < 1 - LEVEL
    needed = value_or_reason(lambda: ranking.images_to_separate(difference, primary, images=images))
    more: int | UndefinedComparison = needed
    if separable:
        more = 0
    elif not isinstance(needed, UndefinedComparison):
        # The correction for all pairs takes more than one pair alone.
        more = max(1, needed - images)
    return RankedPair(names[stronger], names[weaker], difference, *intervals, p, corrected, separable, needed, more)


def _together(decided: Sequence[DecidedImages], image: NDArray[np.int_]) -> DecidedImages:
    """Outcomes of several comparisons, with the number of each one's image."""
    starts = np.cumsum([0, *(len(part.outcome) for part in decided)])
    return DecidedImages(
        image,
        np.concatenate([part.outcome for part in decided]),
        np.concatenate([part.judged + start for part, start in zip(decided, starts, strict=False)]),
        np.concatenate([part.rater for part in decided]),
        np.concatenate([part.sign for part in decided]),
        np.concatenate([part.moved for part in decided]),
    )


def _numbers(decided: Sequence[DecidedImages]) -> NDArray[np.int_]:
    """One number per image, the same for the same image of another comparison."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for part in decided for name in part.image.tolist()], dtype=int)
