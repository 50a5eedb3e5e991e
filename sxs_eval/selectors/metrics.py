"""People's gain beside the difference of a metric: one evaluation for each comparison of a project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.people.models import Project
from crosslens_metrics.gains import gain
from crosslens_metrics.reports.comparison import DecidedImages
from crosslens_metrics.reports.comparison_figures import UndefinedComparison, value_or_reason
from research.scoring.selectors.restricting import restricted_figures
from research.scoring.selectors.scores import ScoreCell, differences_between, metric_order, score_cells
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.models import Comparison
from sxs_eval.selectors.results import comparisons_of, decided_of, evidence_of


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


@dataclass(frozen=True)
class EvaluationMetrics:
    """`images` are those that the gain is from; `gain` is in points."""

    comparison: Comparison
    images: int
    gain: float | UndefinedComparison
    differences: Mapping[str, MetricDifference]


@dataclass(frozen=True)
class EvaluationTable:
    """`metrics` are the figures that any model of a comparison has, in the order of tables.

    `references` is the chosen name of reference sets, or empty for the first by name in each language; `known` are the
    names that can be chosen.
    """

    metrics: Sequence[str]
    rows: Sequence[EvaluationMetrics]
    references: str
    known: Sequence[str]


class UnknownReferencesError(LookupError):
    """No model of a comparison is scored against references of that name."""


Scores = Mapping[tuple[str, str, str], Sequence[ScoreCell]]
"""By language, model and metric."""


def evaluations_of(project: Project, filter: ImageFilter = ALL_IMAGES, *, references: str = "") -> EvaluationTable:
    """Collect evaluations, over the images that a filter leaves, by scores against the `references` of a name.

    Sets of one name in several languages are chosen together. Without a filter, the number of queries does not depend
    on how many comparisons and scores there are.

    Raises
    ------
    UnknownReferencesError
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
        [_evaluation(row, decided_of(row, evidence[row.pk]), metrics, cells) for row in comparisons],
        references,
        known,
    )


def _evaluation(
    comparison: Comparison, decided: DecidedImages, metrics: Sequence[str], scores: Scores
) -> EvaluationMetrics:
    wins, losses = int((decided.outcome > 0).sum()), int((decided.outcome < 0).sum())
    return EvaluationMetrics(
        comparison,
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
    return MetricDifference(one.value - other.value, references=one.reference_set)


def _setting(cell: ScoreCell) -> tuple[int, str, bool]:
    return cell.reference_set_id, cell.tokenizer, cell.normalise


def _preference(cell: ScoreCell) -> tuple[str, bool, str, bool]:
    return cell.reference_set, cell.tokenizer != "whitespace", cell.tokenizer, not cell.normalise
