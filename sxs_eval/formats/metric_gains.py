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
from crosslens_metrics.reports.evaluation_points import SIGNATURE_SUFFIX, PointRules
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.across import EvaluationTable
from tabular.downloads import CSV_TYPE, csv_lines, stamp

HUMAN, GROUP = "gain", "language"
COLUMNS = (
    *("comparison", "base_model", "test_model", GROUP, "references", "images", "chosen_by"),
    *("signature", HUMAN),
)  # fmt: skip
"""Then three columns for each metric: test − base on its own scale, empty where there is none; what its scores were
computed by and on; and the reference set.
"""
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
    columns = [name for metric in evaluations.metrics for name in columns_of(metric)]
    return "".join(csv_lines((*COLUMNS, *columns), (row.values() for row in rows(evaluations))))


def as_json(evaluations: EvaluationTable, rules: PointRules) -> str:
    return json.dumps(content_of(evaluations, rules), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def content_of(evaluations: EvaluationTable, rules: PointRules) -> dict[str, Any]:
    """Return all evaluations, and the correlations of all metrics as `manage.py correlate --json` gives them."""
    report = correlations(evaluations, evaluations.metrics, rules=rules)
    return {"evaluations": rows(evaluations), "correlations": report and report.as_json()}


def columns_of(metric: str) -> tuple[str, str, str]:
    return metric, metric + SIGNATURE_SUFFIX, f"{metric}_references"


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
            "signature": str(row.signature),
            HUMAN: None if isinstance(row.gain, UndefinedComparison) else row.gain,
        }
        for metric in evaluations.metrics:
            one = row.differences[metric]
            line |= zip(columns_of(metric), (one.value, one.signature, one.references), strict=True)
        lines.append(line)
    return lines


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
