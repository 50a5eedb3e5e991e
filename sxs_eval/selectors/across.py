"""All comparisons of a project: each result, the same two models together, and a ranking of all models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics import gains
from crosslens_metrics.reports.comparison import WIDTH_POINTS, DecidedImages, summarise
from crosslens_metrics.reports.comparison_figures import ComparisonSummary, UndefinedComparison, value_or_reason
from crosslens_metrics.reports.comparisons import ModelContest, ModelRanking, PooledGain, pool, rank_models
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.models import Comparison
from sxs_eval.selectors.results import (
    RESAMPLES,
    ComparisonEvidence,
    SetAside,
    comparisons_of,
    decided_of,
    evidence_of,
)

SEED = 0
"""(ours) Seed of figures over several comparisons, each of which has its own; `sxs_report` uses the same."""

USUAL_WIDTH = WIDTH_POINTS
"""In points, as in each report, unless the user asks for another width."""


@dataclass(frozen=True)
class ComparisonResult:
    comparison: Comparison
    summary: ComparisonSummary
    set_aside: SetAside
    images_needed: int | UndefinedComparison
    """Judgements for an interval of the requested width, if outcomes stay as frequent."""


@dataclass(frozen=True)
class PooledResult:
    """The same two models in several languages, or over several sets of images.

    `comparisons` are those that have outcomes.
    """

    base: str
    test: str
    comparisons: Sequence[Comparison]
    pooled: PooledGain
    incomplete: int
    """Pairs that lack judgements, in all comparisons of the two models."""
    counted_similar: int
    set_aside: int


@dataclass(frozen=True)
class OverallResults:
    """`ranking` is None if too few models have outcomes."""

    results: Sequence[ComparisonResult]
    pooled: Sequence[PooledResult]
    ranking: ModelRanking | None
    languages: Sequence[Language]


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
    results = [_result(comparison, evidence[comparison.pk], width_points) for comparison in chosen]
    return OverallResults(
        results=results,
        pooled=_pooled(results, outcomes),
        ranking=_ranking(chosen, outcomes),
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
    return ComparisonResult(
        comparison,
        summary,
        evidence.set_aside,
        value_or_reason(
            lambda: gains.images_needed(
                outcome.wins.count, outcome.losses.count, outcome.images.denominator, width_points=width_points
            )
        ),
    )


def _pooled(results: Sequence[ComparisonResult], outcomes: dict[int, DecidedImages]) -> list[PooledResult]:
    by_models: dict[tuple[str, str], list[ComparisonResult]] = {}
    for result in results:
        by_models.setdefault((result.comparison.base.name, result.comparison.test.name), []).append(result)
    return [
        PooledResult(
            base,
            test,
            [part.comparison for part in parts if len(outcomes[part.comparison.pk].outcome)],
            pool([outcomes[part.comparison.pk] for part in parts], seed=SEED, resamples=RESAMPLES),
            incomplete=sum(part.summary.outcome.images.incomplete for part in parts),
            counted_similar=sum(part.summary.outcome.images.counted_similar for part in parts),
            set_aside=sum(part.set_aside.total for part in parts),
        )
        for (base, test), parts in by_models.items()
        if len(parts) > 1
    ]


def _ranking(comparisons: Sequence[Comparison], outcomes: dict[int, DecidedImages]) -> ModelRanking | None:
    contests = [
        ModelContest(comparison.base.name, comparison.test.name, outcomes[comparison.pk]) for comparison in comparisons
    ]
    return rank_models(contests, seed=SEED, resamples=RESAMPLES)
