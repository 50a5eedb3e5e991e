"""All comparisons of a project: each result, the same two models together, a ranking, and gains beside metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics import images_needed
from crosslens_metrics.gains import DecidedImages, gain
from crosslens_metrics.reports.comparison import summarise
from crosslens_metrics.reports.comparison_figures import (
    GainFigure,
    MeanGain,
    SeveralTests,
    SignTest,
    UndefinedComparison,
    value_or_reason,
)
from crosslens_metrics.reports.comparisons import ModelContest, ModelRanking, pool, rank_models
from crosslens_metrics.reports.gain_figures import WIDTH_POINTS, several_tests
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.signatures import Signature, differences
from research.scoring.selectors.restricting import restricted_figures
from research.scoring.selectors.scores import ScoreCell, differences_between, metric_order, score_cells
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.models import Comparison
from sxs_eval.selectors.evidence import ComparisonEvidence, evidence_of
from sxs_eval.selectors.results import RESAMPLES, comparisons_of, decided_of, signature_of_figures

SEED = 0
"""(ours) Seed of figures over several comparisons, each of which has its own; `sxs_report` uses the same."""

USUAL_WIDTH = WIDTH_POINTS
"""In points, as in each report, unless the user asks for another width."""
Scores = Mapping[tuple[str, str, str], Sequence[ScoreCell]]
"""By language, model and metric."""


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """The figures of one comparison; or, without it, of the same two models in several languages or over several sets.

    Of several, `comparisons` are those that have outcomes.
    """

    comparison: Comparison | None = None
    comparisons: Sequence[Comparison]
    signature: Signature
    unlike: Sequence[str] = ()
    """Of several: in what they differ that should be the same."""
    base: str
    test: str
    images: int
    outcomes: int
    """What wins and losses are shares of: of several comparisons, one outcome per image and comparison."""
    incomplete: int
    """Pairs that lack judgements."""
    counted_similar: int
    set_aside: int
    wins: int
    losses: int
    gain: GainFigure | UndefinedComparison
    sign_test: SignTest | UndefinedComparison
    random_effects: MeanGain | UndefinedComparison | None = None
    """Of several: the mean over comparisons, each with a true gain of its own."""
    shared_raters: int = 0
    """Of several: raters in more than one of them, each of whom counts as one person."""
    alpha: float | UndefinedComparison | None = None
    images_needed: int | UndefinedComparison | None = None
    """Images for an interval of the requested width, if outcomes stay as frequent."""
    images_to_see: int | UndefinedComparison | None = None
    """Images for an 80% chance that the interval with these raters leaves out zero, if the gain is what was seen."""
    planned_images: int | None = None
    anytime_interval: Interval | UndefinedComparison | None = None
    corrected: SeveralTests | None = None
    """Of one of several comparisons: p-values that allow for all those shown."""

    @property
    def languages(self) -> str:
        return ", ".join(dict.fromkeys(comparison.language.name for comparison in self.comparisons))

    def percent(self, count: int) -> float | None:
        return 100 * count / self.outcomes if self.outcomes else None

    @property
    def undefined(self) -> dict[str, UndefinedComparison]:
        """The figures without a value, by name."""
        figures = {
            "gain": self.gain,
            "interval": interval_of(self.gain),
            "other_raters": other_raters_of(self.gain),
            "mean_gain": self.random_effects,
            "p": self.sign_test,
            "alpha": self.alpha,
        }
        return {name: figure for name, figure in figures.items() if isinstance(figure, UndefinedComparison)}

    @property
    def why(self) -> str:
        """Why some of these figures have no value; empty if all have one."""
        return " ".join(dict.fromkeys(figure.message for figure in self.undefined.values()))


@dataclass(frozen=True)
class OverallResults:
    """`ranking` is None if too few models have outcomes.

    `unlike` says in what the comparisons that have outcomes differ, so that their figures should not be compared. While
    images lack judgements, it says nothing of the images themselves: `are_images_apart` does.
    """

    results: Sequence[ComparisonResult]
    unlike: Sequence[str]
    are_images_apart: bool
    pooled: Sequence[ComparisonResult]
    ranking: ModelRanking | None
    languages: Sequence[Language]


def other_raters_of(gain: GainFigure | UndefinedComparison) -> Interval | UndefinedComparison | None:
    """Return the interval of a gain with other raters, or why it has none; None where there is no gain either."""
    if isinstance(gain, UndefinedComparison):
        return None
    others = gain.other_raters
    return others if isinstance(others, UndefinedComparison) else others.interval


def interval_of(gain: GainFigure | UndefinedComparison) -> Interval | UndefinedComparison | None:
    """Return the interval of a gain or why it has none; None where there is no gain either."""
    return gain.interval if isinstance(gain, GainFigure) else None


def results_of(
    project: Project, *, width_points: float = USUAL_WIDTH, language: str = "", filter: ImageFilter = ALL_IMAGES
) -> OverallResults:
    """Collect all comparisons, or those in `language`; `languages` lists all that there are.

    With a `filter`, results are over the images that it leaves.
    """
    everything = comparisons_of(project)
    languages = {comparison.language_id: comparison.language for comparison in everything}
    chosen = [comparison for comparison in everything if language in ("", comparison.language_id)]
    evidence = evidence_of(chosen, filter)
    outcomes = {comparison.pk: decided_of(comparison, evidence[comparison.pk]) for comparison in chosen}
    results = _corrected([_result(comparison, evidence[comparison.pk], width_points) for comparison in chosen])
    signatures = [result.signature for result in results if result.outcomes]
    is_going_on = any(result.incomplete for result in results)
    return OverallResults(
        results=results,
        unlike=differences(*(one.without("sample") if is_going_on else one for one in signatures)),
        are_images_apart=is_going_on and len({one.get("sample") for one in signatures}) > 1,
        pooled=_pooled(results, outcomes),
        ranking=_ranking(results, outcomes),
        languages=sorted(languages.values(), key=lambda known: known.english_name),
    )


def _result(comparison: Comparison, evidence: ComparisonEvidence, width_points: float) -> ComparisonResult:
    summary = summarise(
        evidence.judged,
        seed=comparison.seed,
        replication=comparison.replication,
        not_judged=len(evidence.not_judged),
        counted_similar=len(evidence.similar),
        resamples=RESAMPLES,
    )
    outcome = summary.outcome
    images, wins, losses = outcome.images.denominator, outcome.wins.count, outcome.losses.count
    return ComparisonResult(
        comparison=comparison,
        comparisons=[comparison],
        signature=signature_of_figures(comparison, evidence),
        base=comparison.base.name,
        test=comparison.test.name,
        images=images,
        # None where nothing is judged yet, although pairs with equal captions count.
        outcomes=images if isinstance(outcome.gain, GainFigure) else 0,
        incomplete=outcome.images.incomplete,
        counted_similar=outcome.images.counted_similar,
        set_aside=evidence.set_aside.total,
        wins=wins,
        losses=losses,
        gain=outcome.gain,
        sign_test=outcome.sign_test,
        alpha=summary.alpha,
        images_needed=value_or_reason(
            lambda: images_needed.images_needed(wins, losses, images, width_points=width_points)
        ),
        images_to_see=value_or_reason(lambda: images_needed.images_to_see(wins, losses, images)),
        planned_images=evidence.pairs,
        anytime_interval=outcome.anytime_interval,
    )


def _corrected(results: list[ComparisonResult]) -> list[ComparisonResult]:
    if len(results) < 2:
        return results
    tests = several_tests([(result.gain, result.sign_test) for result in results], corrected=True)
    return [replace(result, corrected=test) for result, test in zip(results, tests, strict=True)]


def _pooled(results: Sequence[ComparisonResult], outcomes: dict[int, DecidedImages]) -> list[ComparisonResult]:
    """Pool comparisons of the same two models, whichever is the base; judgements on different scales stay apart."""
    by_models: dict[tuple[frozenset[str], int], list[ComparisonResult]] = {}
    for result in results:
        assert result.comparison
        key = (frozenset({result.base, result.test}), result.comparison.scale)
        by_models.setdefault(key, []).append(result)
    return [_pool(parts, outcomes) for parts in by_models.values() if len(parts) > 1]


def _pool(parts: Sequence[ComparisonResult], outcomes: dict[int, DecidedImages]) -> ComparisonResult:
    comparisons = [comparison for part in parts for comparison in part.comparisons]
    base = comparisons[0].base_id
    decided = [outcomes[one.pk] if one.base_id == base else outcomes[one.pk].turned() for one in comparisons]
    pooled = pool(decided, seed=SEED, resamples=RESAMPLES, signatures=[part.signature for part in parts])
    return ComparisonResult(
        signature=pooled.signature,
        unlike=pooled.unlike,
        comparisons=[comparison for comparison in comparisons if len(outcomes[comparison.pk].outcome)],
        base=parts[0].base,
        test=parts[0].test,
        images=pooled.images,
        outcomes=pooled.outcomes,
        incomplete=sum(part.incomplete for part in parts),
        counted_similar=sum(part.counted_similar for part in parts),
        set_aside=sum(part.set_aside for part in parts),
        wins=pooled.wins,
        losses=pooled.losses,
        gain=pooled.gain,
        random_effects=pooled.random_effects,
        shared_raters=pooled.shared_raters,
        sign_test=pooled.sign_test,
    )


def _ranking(results: Sequence[ComparisonResult], outcomes: dict[int, DecidedImages]) -> ModelRanking | None:
    contests = [
        ModelContest(result.base, result.test, outcomes[comparison.pk], result.signature)
        for result in results
        for comparison in result.comparisons
    ]
    return rank_models(contests)


class LackingReason(StrEnum):
    """Why an evaluation has no difference in a metric."""

    SCORES = "scores"
    ALIKE = "alike"


@dataclass(frozen=True)
class MetricDifference:
    """The difference, test − base on the metric's scale; if `value` is None, `lacking` says why and `parts` how."""

    value: float | None
    lacking: LackingReason | None = None
    parts: Sequence[str] = ()
    references: str = ""
    signature: str = ""


@dataclass(frozen=True)
class EvaluationMetrics:
    """`images` are those that the gain is from; `gain` is in points, and `signature` its own."""

    comparison: Comparison
    signature: Signature
    images: int
    gain: float | UndefinedComparison
    differences: Mapping[str, MetricDifference]


@dataclass(frozen=True)
class EvaluationTable:
    """`metrics` are the figures that any model of a comparison has, in the order of tables.

    `references` is the chosen name of reference sets, or empty for the first by name in each language; `known` are the
    names that can be chosen. `images` is the filter of the images.
    """

    metrics: Sequence[str]
    rows: Sequence[EvaluationMetrics]
    references: str
    known: Sequence[str]
    images: ImageFilter = ALL_IMAGES

    def used(self, metric: str) -> list[str]:
        """Return the names of the reference sets that the differences of a metric are from."""
        return sorted({row.differences[metric].references for row in self.rows} - {""}, key=str.casefold)


class UnknownReferencesError(LookupError):
    """No model of a comparison is scored against references of that name."""


def evaluations_of(project: Project, filter: ImageFilter = ALL_IMAGES, *, references: str = "") -> EvaluationTable:
    """Collect evaluations, over the images that a filter leaves, by scores against the `references` of a name.

    Sets of one name in several languages are chosen together. Without a filter, the number of queries does not depend
    on how many comparisons and scores there are.

    Raises UnknownReferencesError.
    """
    comparisons = comparisons_of(project)
    evidence = evidence_of(comparisons, filter)
    compared = {(row.language_id, model.name) for row in comparisons for model in (row.base, row.test)}
    of_compared = [cell for cell in score_cells(project) if (cell.language, cell.model) in compared]
    known = sorted({cell.reference_set for cell in of_compared}, key=str.casefold)
    if references and references not in known:
        raise UnknownReferencesError(references)
    chosen = [cell for cell in of_compared if references in ("", cell.reference_set)]
    cells: dict[tuple[str, str, str], list[ScoreCell]] = defaultdict(list)
    for cell in restricted_figures(chosen, project=project, filter=filter):
        if cell.value is not None:
            cells[cell.language, cell.model, cell.metric].append(cell)
    metrics = sorted({metric for *_of, metric in cells}, key=metric_order)
    return EvaluationTable(
        metrics,
        [_evaluation(row, evidence[row.pk], metrics, cells) for row in comparisons],
        references,
        known,
        filter,
    )


def _evaluation(
    comparison: Comparison, evidence: ComparisonEvidence, metrics: Sequence[str], scores: Scores
) -> EvaluationMetrics:
    decided = decided_of(comparison, evidence)
    wins, losses = int((decided.outcome > 0).sum()), int((decided.outcome < 0).sum())
    return EvaluationMetrics(
        comparison,
        signature_of_figures(comparison, evidence),
        len(decided.outcome),
        value_or_reason(lambda: gain(wins, losses, len(decided.outcome))),
        {metric: _difference(comparison, metric, scores) for metric in metrics},
    )


def _difference(comparison: Comparison, metric: str, scores: Scores) -> MetricDifference:
    """Choose scores that were computed alike, the first by name of the references, whitespace before other tokens."""
    base, test = (
        sorted(scores.get((comparison.language_id, model.name, metric), ()), key=_preference)
        for model in (comparison.base, comparison.test)
    )
    pairs = [(one, other) for one in test for other in base if _setting(one) == _setting(other)]
    if not pairs:
        return MetricDifference(None, LackingReason.SCORES)
    alike = next((pair for pair in pairs if pair[0].signature == pair[1].signature), None)
    if alike is None:
        one, other = pairs[0]
        parts = differences_between(one.signature, other.signature)
        return MetricDifference(None, LackingReason.ALIKE, parts, one.reference_set)
    one, other = alike
    assert one.value is not None
    assert other.value is not None
    return MetricDifference(one.value - other.value, references=one.reference_set, signature=one.signature)


def _setting(cell: ScoreCell) -> tuple[int, str, bool]:
    return cell.reference_set_id, cell.tokenizer, cell.normalise


def _preference(cell: ScoreCell) -> tuple[str, bool, str, bool]:
    return cell.reference_set, cell.tokenizer != "whitespace", cell.tokenizer, not cell.normalise
