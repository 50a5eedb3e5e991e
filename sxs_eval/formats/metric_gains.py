"""Human gains beside differences of metrics, as `manage.py correlate` reads them."""

from __future__ import annotations

import json
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
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.across import EvaluationTable
from tabular.downloads import CSV_TYPE, stamp, table_lines

HUMAN, GROUP = "gain", "language"
COLUMNS = ("comparison", "base_model", "test_model", GROUP, "references", "images", HUMAN)
"""Then one column for each metric: test − base on the metric's own scale, empty where there is none."""
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


def as_json(evaluations: EvaluationTable) -> str:
    """Return all evaluations, and the correlations of each metric as `manage.py correlate --json` gives them."""
    correlations_by_metric = {
        f"{metric}{suffix}": report.as_json()
        for metric in evaluations.metrics
        for suffix, flip in (("", True), (" --no-flip", False))
        if (report := correlations(evaluations, metric, flip=flip)) is not None
    }
    content = {"evaluations": rows(evaluations), "correlations": correlations_by_metric}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def rows(evaluations: EvaluationTable) -> list[dict[str, Any]]:
    lines = []
    for row in evaluations.rows:
        comparison = row.comparison
        used = [one.references for one in row.differences.values() if one.value is not None]
        models = (comparison.base.name, comparison.test.name)
        about = (comparison.pk, *models, comparison.language_id, "; ".join(dict.fromkeys(used)), row.images)
        gain = None if isinstance(row.gain, UndefinedComparison) else row.gain
        line: dict[str, Any] = dict(zip(COLUMNS, (*about, gain), strict=True))
        lines.append(line | {metric: row.differences[metric].value for metric in evaluations.metrics})
    return lines


def correlations(evaluations: EvaluationTable, metric: str, *, flip: bool) -> CorrelationReport | None:
    """Return what `manage.py correlate` reports about the file; None if there is no evaluation.

    Resampling takes long, so the result for the same file is kept.
    """
    content = as_csv(evaluations).encode()
    key = f"metrics-correlations-{sha256(repr((metric, flip, CORE, RESAMPLES, SEED)).encode() + content).hexdigest()}"
    report: CorrelationReport | None = cache.get(key)
    if report is not None:
        return report
    try:
        report = correlations_of(
            parse_table(content, asked=[HUMAN, metric, GROUP]),
            human=HUMAN,
            metrics=[metric],
            group=(GROUP, CORE),
            flip=flip,
            skip_missing=True,
            resamples=RESAMPLES,
            seed=SEED,
        )
    except FileRefusedError:
        return None
    cache.set(key, report, KEPT_S)
    return report
