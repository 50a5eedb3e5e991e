"""Which comparisons of models are worth raters' time, from automatic scores on two sets of references.

Every choice that the published protocol leaves open (ours) is made here, and explained in docs/planning.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, comb
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

CORE = ("zh", "en", "hi", "es")
SMALL_POINTS = Fraction(1)
"""(ours) Score points below which a difference is small, on the ×100 scale on which CIDEr is usually printed."""
IMAGES = 600
REPLICATION = 3
RATERS, MAX_RATERS = 10, 200
"""(ours) Who take part in a comparison, for its power."""
PACE_S = 20.0
"""(ours) Seconds per judgement if none was measured."""
SECONDS_PER_HOUR = 3600


class ProposalReason(StrEnum):
    """Why a session is proposed; stable codes."""

    CORE = "core"
    SIGNS = "signs"
    ZERO = "zero"
    SMALL = "small"


REASONS: dict[ProposalReason, Promise] = {
    ProposalReason.CORE: _("core language"),
    ProposalReason.SIGNS: _("the two sets disagree"),
    ProposalReason.ZERO: _("no difference in one set"),
    ProposalReason.SMALL: _("small difference"),
}


class PairVerdict(StrEnum):
    """The decision about a pair of models in a language; stable codes."""

    PROPOSED = "proposed"
    CLEAR = "clear"
    UNSCORED = "unscored"


class ModelScore(NamedTuple):
    """The scores of one model in one language, on the two sets; None where there is none."""

    language: str
    model: str
    on_sets: tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class SmallThresholds:
    """Below which a difference is small: in score points, or in percent of the larger score; None disables either."""

    points: Fraction | None = SMALL_POINTS
    percent: Fraction | None = None

    def is_small(self, base: Fraction, test: Fraction) -> bool:
        difference = abs(test - base)
        if self.points is not None and difference < self.points:
            return True
        return self.percent is not None and 100 * difference < self.percent * max(abs(base), abs(test))


@dataclass(frozen=True)
class ProposedSession:
    """Two models in one language. `differences` are test minus base on the two sets, None where a score is missing."""

    language: str
    base: str
    test: str
    differences: tuple[Fraction | None, Fraction | None]
    reasons: tuple[ProposalReason, ...]

    @property
    def is_chosen_by_scores(self) -> bool:
        """Whether it is proposed only because of its scores: then it is no evidence for their metric."""
        return bool(self.reasons) and ProposalReason.CORE not in self.reasons

    @property
    def verdict(self) -> PairVerdict:
        if self.reasons:
            return PairVerdict.PROPOSED
        return PairVerdict.UNSCORED if None in self.differences else PairVerdict.CLEAR


@dataclass(frozen=True)
class MissingScore:
    """A model without a score in a language on some of the sets, by their index; on all if not `is_listed`."""

    language: str
    model: str
    on_sets: tuple[int, ...]
    is_listed: bool


@dataclass(frozen=True)
class EvaluationPlan:
    """Every pair of models in every language of the scores, core languages first."""

    pairs: tuple[ProposedSession, ...]
    missing: tuple[MissingScore, ...]
    core_without_scores: tuple[str, ...]
    is_all_small: bool
    """Whether the thresholds make every difference small, so that they separate nothing."""

    @cached_property
    def sessions(self) -> tuple[ProposedSession, ...]:
        return self.having(PairVerdict.PROPOSED)

    def having(self, verdict: PairVerdict) -> tuple[ProposedSession, ...]:
        return tuple(pair for pair in self.pairs if pair.verdict == verdict)


@dataclass(frozen=True)
class PlanCost:
    """`judgements` is images times replication; `attention` is the expected number of gold pairs and repeats."""

    sessions: int = 0
    images: int = 0
    judgements: int = 0
    attention: int = 0
    seconds: float = 0.0

    @property
    def hours(self) -> float:
        return self.seconds / SECONDS_PER_HOUR

    def __add__(self, other: PlanCost) -> PlanCost:
        return PlanCost(
            self.sessions + other.sessions,
            self.images + other.images,
            self.judgements + other.judgements,
            self.attention + other.attention,
            self.seconds + other.seconds,
        )


def cost_of_session(*, images: int, replication: int, attention_percent: int, pace_s: float) -> PlanCost:
    """Compute what one session costs. An attention item takes as long as a judgement (ours)."""
    judgements = images * replication
    attention = ceil(Fraction(judgements * attention_percent, 100))
    return PlanCost(1, images, judgements, attention, (judgements + attention) * pace_s)


def total_cost(costs: Iterable[PlanCost]) -> PlanCost:
    return sum(costs, PlanCost())


def plan_sessions(scores: Sequence[ModelScore], *, core: Sequence[str], thresholds: SmallThresholds) -> EvaluationPlan:
    """Sort all pairs of models, by language, into proposed, clear, and those without a score.

    In the core languages, a pair is proposed if both models are listed there. Elsewhere, a pair is proposed if its
    differences on the two sets disagree in sign, or if either of them is small. The order of `scores` does not matter.
    The base is the first of the two by name, whatever their scores (ours).

    Raises ValueError: one model comes twice in one language.
    """
    rows: dict[str, dict[str, ModelScore]] = defaultdict(dict)
    for score in scores:
        if rows[score.language].setdefault(score.model, score) is not score:
            raise ValueError(f"{score.model} comes twice in {score.language}.")
    languages = [tag for tag in core if tag in rows] + sorted(rows.keys() - set(core))
    models = sorted({score.model for score in scores})
    pairs = [
        _session(tag, base, test, rows[tag], is_core=tag in core, thresholds=thresholds)
        for tag in languages
        for base, test in combinations(models, 2)
    ]
    scored = [(rows[pair.language][pair.base], rows[pair.language][pair.test]) for pair in pairs if _is_scored(pair)]
    return EvaluationPlan(
        pairs=tuple(pairs),
        missing=tuple(gap for tag in languages for gap in _missing(tag, models, rows[tag])),
        core_without_scores=tuple(tag for tag in core if tag not in rows),
        is_all_small=bool(scored) and all(_are_small(thresholds, base, test) for base, test in scored),
    )


def count_pairs(scores: Sequence[ModelScore]) -> int:
    """Return how many pairs a plan of `scores` lists, before it is made."""
    return comb(len({score.model for score in scores}), 2) * len({score.language for score in scores})


def _session(
    tag: str, base: str, test: str, rows: Mapping[str, ModelScore], *, is_core: bool, thresholds: SmallThresholds
) -> ProposedSession:
    if base not in rows or test not in rows:
        return ProposedSession(tag, base, test, (None, None), ())
    differences = _differences(rows[base], rows[test])
    reasons = [ProposalReason.CORE] if is_core else []
    if None not in differences:
        reasons += _doubts(rows[base], rows[test], thresholds)
    return ProposedSession(tag, base, test, differences, tuple(reasons))


def _doubts(base: ModelScore, test: ModelScore, thresholds: SmallThresholds) -> list[ProposalReason]:
    """Return why automatic scores do not settle which is better. Zero agrees with no sign, nor with zero (ours)."""
    signs = [_sign(gap) for gap in _differences(base, test) if gap is not None]
    doubts = []
    if 0 in signs:
        doubts.append(ProposalReason.ZERO)
    elif signs[0] != signs[1]:
        doubts.append(ProposalReason.SIGNS)
    if any(_small_on_sets(thresholds, base, test)):
        doubts.append(ProposalReason.SMALL)
    return doubts


def _small_on_sets(thresholds: SmallThresholds, base: ModelScore, test: ModelScore) -> list[bool]:
    scores = zip(base.on_sets, test.on_sets, strict=True)
    return [thresholds.is_small(low, high) for low, high in scores if low is not None and high is not None]


def _are_small(thresholds: SmallThresholds, base: ModelScore, test: ModelScore) -> bool:
    return all(_small_on_sets(thresholds, base, test))


def _is_scored(pair: ProposedSession) -> bool:
    return None not in pair.differences


def _differences(base: ModelScore, test: ModelScore) -> tuple[Fraction | None, Fraction | None]:
    (base_a, base_b), (test_a, test_b) = base.on_sets, test.on_sets
    return (
        None if base_a is None or test_a is None else test_a - base_a,
        None if base_b is None or test_b is None else test_b - base_b,
    )


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _missing(tag: str, models: Iterable[str], rows: Mapping[str, ModelScore]) -> list[MissingScore]:
    gaps = []
    for model in models:
        on_sets = rows[model].on_sets if model in rows else (None, None)
        lacking = tuple(index for index, value in enumerate(on_sets) if value is None)
        if lacking:
            gaps.append(MissingScore(tag, model, lacking, model in rows))
    return gaps


def difference_text(difference: Fraction | None) -> str:
    """Format a difference with its sign, to four places, never rounded to zero."""
    if difference is None:
        return "–"
    if not difference:
        return "0"
    text = f"{float(difference):+.4f}".rstrip("0").rstrip(".")
    return (text if text not in ("+0", "-0") else f"{float(difference):+.1e}").replace("-", "−")
