"""Human gains beside differences of metrics, as `manage.py correlate` reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.core.cache import cache
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from core.people.models import Project
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.tables import parse_table
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.reports.correlations import RESAMPLES, CorrelationReport, correlations_of
from crosslens_metrics.reports.evaluation_points import PointRules
from crosslens_metrics.signatures import Signature, sample_digest
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.across import EvaluationMetrics, EvaluationTable
from tabular.downloads import CSV_TYPE, stamp, table_lines

HUMAN, GROUP = "gain", "language"
COLUMNS = (
    *("comparison", "base_model", "test_model", GROUP, "references", "images", "chosen_by"),
    *("signature", HUMAN),
)  # fmt: skip
"""Then one column for each metric: test − base on the metric's own scale, empty where there is none."""
VERSION = 1
SEED = 0
KEPT_S = 24 * 3600


class MetricsLayout(TextChoices):
    CSV = "csv", _("one row per comparison (CSV)")
    JSON = "json", _("with correlations (JSON)")

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is MetricsLayout.CSV else "application/json"


def metrics_file_name(project: Project, layout: MetricsLayout, now: datetime) -> str:
    return f"{project.slug}-metrics-{stamp(now)}.{layout}"


def as_csv(evaluations: EvaluationTable) -> str:
    return "".join(table_lines((*COLUMNS, *evaluations.metrics), rows(evaluations), as_csv=True))


def as_json(evaluations: EvaluationTable, rules: PointRules) -> str:
    """Return all evaluations, and the correlations of all metrics as `manage.py correlate --json` gives them."""
    report = correlations(evaluations, evaluations.metrics, rules=rules)
    content = {"evaluations": rows(evaluations), "correlations": report and report.as_json()}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def rows(evaluations: EvaluationTable) -> list[dict[str, Any]]:
    lines = []
    for row in evaluations.rows:
        comparison = row.comparison
        used = [one.references for one in row.differences.values() if one.value is not None]
        line: dict[str, Any] = {
            "comparison": comparison.pk,
            "base_model": comparison.base.name,
            "test_model": comparison.test.name,
            GROUP: comparison.language_id,
            "references": "; ".join(dict.fromkeys(used)),
            "images": row.images,
            "chosen_by": comparison.chosen_by,
            "signature": str(_signature(row, evaluations)),
            HUMAN: None if isinstance(row.gain, UndefinedComparison) else row.gain,
        }
        lines.append(line | {metric: row.differences[metric].value for metric in evaluations.metrics})
    return lines


def _signature(row: EvaluationMetrics, evaluations: EvaluationTable) -> Signature:
    """Return what the gain and the differences of an evaluation are from; `scores` is a digest of their signatures."""
    comparison = row.comparison
    signatures = [f"{metric} {one.signature}" for metric, one in row.differences.items() if one.value is not None]
    settings = {
        "v": VERSION,
        "collection": comparison.collection.slug,
        "drawn": comparison.subset and f"{comparison.subset}/{comparison.seed}",
        "images": "+".join(filter(None, (comparison.images, str(evaluations.images)))) or None,
        "replication": comparison.replication,
        "scale": comparison.scale,
        "scores": sample_digest(signatures),
    }
    return Signature.of("gain-and-metrics", settings)


def correlations(
    evaluations: EvaluationTable, metrics: Sequence[str], *, rules: PointRules, others: Sequence[str] = ()
) -> CorrelationReport | None:
    """Return what `manage.py correlate` reports about the file; None without evaluations or metrics.

    `others` are metrics that each of `metrics` is held against. Resampling takes long, so the result for the same file
    is kept.
    """
    if not metrics:
        return None
    content = as_csv(evaluations).encode()
    about = repr((list(metrics), list(others), rules, CORE, RESAMPLES, SEED))
    key = f"metrics-correlations-{sha256(about.encode() + content).hexdigest()}"
    report: CorrelationReport | None = cache.get(key)
    if report is not None:
        return report
    try:
        report = correlations_of(
            parse_table(content, asked=[HUMAN, GROUP, *metrics]),
            human=HUMAN,
            metrics=metrics,
            others=others,
            group=(GROUP, CORE),
            rules=rules,
            skip_missing=True,
            resamples=RESAMPLES,
            seed=SEED,
        )
    except FileRefusedError:
        return None
    cache.set(key, report, KEPT_S)
    return report
