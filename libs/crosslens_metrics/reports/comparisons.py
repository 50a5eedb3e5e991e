"""Figures over several comparisons: one gain of them all, and an order of many models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import gains, ranking
from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.messages import gettext
from crosslens_metrics.reports.comparison_figures import (
    GainFigure,
    MeanGain,
    SignTest,
    UndefinedComparison,
    sign_test_of,
    value_or_reason,
)
from crosslens_metrics.reports.figures import ReportFigure, random_stream
from crosslens_metrics.reports.gain_figures import gain_figure, with_fixed
from crosslens_metrics.reports.ranking_leads import OTHERS, THESE, PairTests, RankingLeads
from crosslens_metrics.sampling import significance
from crosslens_metrics.sampling.designs import Factor
from crosslens_metrics.sampling.intervals import LEVEL, Interval
from crosslens_metrics.signatures import Signature, differences, together

POOLING_METHOD = "sxs-pooled"
POOLING_VERSION = 2
RANKING_METHOD = "bradley-terry"
RANKING_VERSION = 4
MIN_RANKED = 3
"""Models: of two, the gain says it all."""
NO_SIGNATURE = Signature("unknown", ())
PRIMARY = ("interval", "other_raters")


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
    independent. `unlike` says in what the comparisons differ that should be the same. `shared_raters` have judgements
    in more than one comparison, and count as one person each.
    """

    signature: Signature
    unlike: tuple[str, ...]
    comparisons: int
    shared_raters: int
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
    """`interval` with these raters, `other_raters` with others like them.

    `p` is by the `primary` of the two: `other_raters`, or `interval` where these raters do not show how others differ.
    `p_holm` is corrected for all pairs of the component, and `separable` follows it; `separable_these` is the same of
    these raters alone. `more_images` for an 80% chance that the primary interval leaves out zero, if they are judged by
    the same raters; none more where it is separable.
    """

    stronger: str
    weaker: str
    difference: float
    interval: Interval | UndefinedComparison
    other_raters: Interval | UndefinedComparison
    primary: str
    p: float | UndefinedComparison
    p_holm: float | UndefinedComparison
    separable: bool | UndefinedComparison
    separable_these: bool | UndefinedComparison
    images_needed: int | UndefinedComparison
    more_images: int | UndefinedComparison

    @property
    def verdict(self) -> str:
        """Whether the two are separable, and by which raters, in words; nothing where that is undefined."""
        if isinstance(self.separable, UndefinedComparison):
            return ""
        if self.primary == PRIMARY[OTHERS]:
            return gettext("separable") if self.separable else gettext("not separable")
        return gettext("separable with these raters") if self.separable else gettext("not separable with these raters")

    @property
    def is_separable_by_these_alone(self) -> bool:
        return self.separable is False and self.separable_these is True


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

    - `decided`: one for each comparison.
    - `resamples`: of the bootstrap.
    - `signatures`: of the comparisons; those without outcomes are left out.
    - returned: in percentage points.
    """
    image = _numbers(decided)
    outcome = np.concatenate([np.zeros(0, dtype=np.int8), *(part.outcome for part in decided)])
    net = np.bincount(image, weights=outcome)

    def signs() -> SignTest:
        wins, losses = int((net > 0).sum()), int((net < 0).sum())
        return sign_test_of(wins, losses, images=len(outcome))

    def means() -> MeanGain:
        parts = [part for part in decided if len(part.outcome)]
        mean, interval = gains.random_effects([part.image for part in parts], [part.outcome for part in parts])
        return MeanGain(mean, with_fixed(interval, {Factor.RATER: len(judged_in)}))

    def interval() -> Interval:
        return gains.pooled_gain_interval(image, outcome, resamples=resamples, rng=random_stream(seed, "pooled gain"))

    known = signatures or [NO_SIGNATURE] * len(decided)
    parts = [one for one, part in zip(known, decided, strict=True) if len(part.outcome)]
    judged_in = Counter(rater for part in decided for rater in set(part.rater.tolist()))
    settings = {"v": POOLING_VERSION, "raters": len(judged_in), "bootstrap": f"{resamples}/{seed}"}
    return PooledGain(
        signature=together(POOLING_METHOD, settings, parts),
        unlike=_unlike(parts),
        comparisons=len(parts),
        shared_raters=sum(comparisons > 1 for comparisons in judged_in.values()),
        images=len(net),
        outcomes=len(outcome),
        wins=int((outcome > 0).sum()),
        losses=int((outcome < 0).sum()),
        gain=value_or_reason(
            lambda: gain_figure(gains.pooled_gain(outcome), interval, _together(decided, image), comparisons=len(parts))
        ),
        random_effects=value_or_reason(means),
        sign_test=value_or_reason(signs),
    )


def rank_models(contests: Sequence[ModelContest]) -> ModelRanking | None:
    """All models that were compared, by Bradley-Terry strength; an image without a majority is half a win to each.

    None where fewer models have outcomes than take a ranking.

    - `contests`: one for each comparison.
    - returned: in log-odds.
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


def _unlike(signatures: Sequence[Signature]) -> tuple[str, ...]:
    """In what comparisons differ that become one figure; their images may, as its intervals are over images."""
    return tuple(differences(*(one.without("sample") for one in signatures)))


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
        sign=together.sign,
    )


def _component(contests: Sequence[ModelContest], names: list[str]) -> RankedComponent:
    contests = [contest for contest in contests if contest.base in names]
    outcomes = _outcomes(contests, names)
    table = ranking.win_table(outcomes, n_models=len(names))
    images, raters = len(np.unique(outcomes.image)), len(np.unique(outcomes.rater))
    signatures = [contest.signature for contest in contests]
    about = {"v": RANKING_VERSION, "prior": ranking.PRIOR_IMAGES, "raters": raters}
    signed = together(RANKING_METHOD, about, signatures), _unlike(signatures)
    bounds = ranking.bounds(table)
    fitted = value_or_reason(lambda: ranking.bradley_terry(table + ranking.prior(table)))
    if isinstance(fitted, UndefinedComparison):
        models = (RankedModel(name, fitted, bound, fitted, fitted) for name, bound in zip(names, bounds, strict=True))
        return RankedComponent(*signed, images, raters, tuple(models), ())
    is_measured = np.array([bound == ranking.StrengthBound.JUDGEMENTS for bound in bounds])
    middle = is_measured if is_measured.any() else ~is_measured
    strengths = fitted - fitted[middle].mean()
    variances = ranking.StrengthVariances(outcomes, fitted)
    leads = RankingLeads(table, bounds, variances, strengths, images, raters, outcomes.alike)
    order = [int(model) for model in np.argsort(-strengths, kind="stable")]
    pairs = list(combinations(order, 2))
    tests = {pair: leads.tests_of(*pair) for pair in pairs}
    decided = [pair for pair, test in tests.items() if test.is_defined]
    by_these = significance.holm([tests[pair].p[THESE] for pair in decided])
    by_primary = significance.holm([tests[pair].p_to_correct for pair in decided])
    corrected = {pair: (float(by_these[i]), float(by_primary[i])) for i, pair in enumerate(decided)}
    return RankedComponent(
        *signed,
        images=images,
        raters=raters,
        models=tuple(
            RankedModel(names[model], float(strengths[model]), bounds[model], *leads.of_model(model)) for model in order
        ),
        pairs=tuple(_pair(names, *pair, tests[pair], corrected.get(pair, (1.0, 1.0))) for pair in pairs),
    )


def _pair(names: list[str], stronger: int, weaker: int, tests: PairTests, corrected: tuple[float, float]) -> RankedPair:
    """`corrected` are the p-values after Holm's correction for all pairs, of these raters and of the primary."""
    about = (names[stronger], names[weaker], tests.lead, *tests.intervals, PRIMARY[tests.primary])
    undefined = tests.intervals[THESE]
    if isinstance(undefined, UndefinedComparison):
        return RankedPair(*about, *[undefined] * 6)
    separable_these, separable = (p < 1 - LEVEL for p in corrected)
    needed = value_or_reason(tests.images_needed)
    more: int | UndefinedComparison = needed
    if separable:
        more = 0
    elif not isinstance(needed, UndefinedComparison):
        # The correction for all pairs takes more than one pair alone.
        more = max(1, needed - tests.images)
    return RankedPair(*about, tests.p[tests.primary], corrected[1], separable, separable_these, needed, more)


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
