"""How well a metric predicts people's gains: a plot of gain against difference, and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, PlotPoint, scatter_plot
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.reports.correlations import RESAMPLES, MetricAgreement
from crosslens_metrics.reports.figures import UndefinedScore
from research.scoring.selectors.scores import shown_times, title_of
from sxs_eval.formats.metric_gains import SEED, correlations
from sxs_eval.pages.report import report_link
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.metrics import EvaluationMetrics, EvaluationTable, LackingReason
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, isolated, note, parts, tag

CorrelatedPart = tuple[str, MetricAgreement]
"""All evaluations, those in the core languages, or the others: their name, and how far people and metric agree."""


def metrics_page(evaluations: EvaluationTable, *, metric: str, flip: bool) -> dict[str, Any]:
    """Return what the page of a metric shows; an unknown one is replaced by the first."""
    names = evaluations.metrics
    metric = metric if metric in names else next(iter(names), "")
    title = title_of(metric) if metric else ""
    rows = evaluations.rows if metric else []
    plotted = [row for row in rows if not _why(row, metric)]
    report = correlations(evaluations, metric, flip=flip) if plotted else None
    core = _("Core languages (%(languages)s)") % {"languages": ", ".join(CORE)}
    groups = report.agreements.values() if report else []
    agreed = zip((_("All"), core, _("Other languages")), (group[metric] for group in groups), strict=False)
    return {
        "metric": metric,
        "title": title,
        "metrics": [(name, title_of(name)) for name in names],
        "flip": flip,
        "references": evaluations.references,
        "known_references": [(name, name) for name in evaluations.known],
        "table": PageTable("evaluations", _("Comparisons"), _columns(metric, title), rows),
        "plot": _plot(title, metric, plotted) if plotted else None,
        "correlations": PageTable("correlations", _("Correlations"), _correlation_columns(), list(agreed)),
        "resamples": RESAMPLES,
        "seed": SEED,
    }


def _columns(metric: str, title: str) -> list[TableColumn[EvaluationMetrics]]:
    return [
        TableColumn("models", _("Models"), lambda row: report_link(row.comparison), kind="of-models"),
        TableColumn(
            "language",
            _("Language"),
            lambda row: parts(row.comparison.language.name, tag(_("core") if _is_core(row) else "")),
            kind=TEXT,
        ),
        TableColumn("gain", _("ΔSxS"), lambda row: isolated(_gain(row))),
        TableColumn("difference", _("Δ%(metric)s") % {"metric": title}, lambda row: isolated(_difference(row, metric))),
        TableColumn("images", _("Images judged"), lambda row: row.images),
        TableColumn(
            "references",
            _("References"),
            lambda row: parts(isolated(row.differences[metric].references), note(_why(row, metric))),
            kind=TEXT,
        ),
    ]


def _correlation_columns() -> list[TableColumn[CorrelatedPart]]:
    coefficients = zip(Coefficient, ("Pearson", "Spearman", "Kendall τ-b", "Matthews"), strict=True)
    return [
        TableColumn("languages", _("Languages"), lambda part: part[0], kind=TEXT),
        TableColumn("evaluations", _("Comparisons"), lambda part: part[1].evaluations),
        TableColumn("points", _("Points"), lambda part: part[1].points),
        *(TableColumn(name, name, partial(_correlation, coefficient), kind=TEXT) for coefficient, name in coefficients),
    ]


def _correlation(coefficient: Coefficient, part: CorrelatedPart) -> str:
    figure = part[1].coefficients[coefficient]
    value = "" if isinstance(figure.value, UndefinedScore) else texts.signed_number(figure.value, 2)
    bounds = figure.interval
    interval = texts.interval_text(bounds, 2, with_sign=True) if isinstance(bounds, Interval) else ""
    why = texts.reason_undefined(figure.value, bounds)
    return parts(isolated(value) or NO_VALUE, note(isolated(interval)), note(why))


def _gain(row: EvaluationMetrics) -> str:
    return "" if isinstance(row.gain, UndefinedComparison) else texts.signed_number(row.gain)


def _difference(row: EvaluationMetrics, metric: str) -> str:
    difference = row.differences[metric].value
    return "" if difference is None else texts.signed_number(difference * shown_times(metric), 2)


def _is_core(row: EvaluationMetrics) -> bool:
    return row.comparison.language_id in CORE


def _why(row: EvaluationMetrics, metric: str) -> str:
    """Say why an evaluation is not in the plot; empty if it is."""
    difference, comparison = row.differences[metric], row.comparison
    if isinstance(row.gain, UndefinedComparison):
        return row.gain.message
    if difference.lacking is LackingReason.SCORES:
        text = _("%(base)s and %(test)s have no scores against the same references.")
        return text % {"base": comparison.base, "test": comparison.test}
    if difference.lacking is LackingReason.ALIKE:
        return _("The two models were scored differently (%(parts)s).") % {"parts": "; ".join(difference.parts)}
    return ""


def _point(row: EvaluationMetrics, metric: str) -> PlotPoint:
    difference = row.differences[metric].value
    assert not isinstance(row.gain, UndefinedComparison)
    assert difference is not None
    return PlotPoint(row.gain, difference * shown_times(metric), "core" if _is_core(row) else "rest")


def _plot(title: str, metric: str, rows: Sequence[EvaluationMetrics]) -> DrawnPlot:
    said = _("%(test)s against %(base)s, %(language)s: people %(gain)s, metric %(difference)s")
    summary = "; ".join(
        said
        % {
            "test": row.comparison.test,
            "base": row.comparison.base,
            "language": row.comparison.language.name,
            "gain": _gain(row),
            "difference": _difference(row, metric),
        }
        for row in rows
    )
    return scatter_plot(
        _("Human gain and the difference in %(metric)s") % {"metric": title},
        [_point(row, metric) for row in rows],
        summary=summary,
        x_name=_("ΔSxS, in points"),
        y_name=_("Difference in %(metric)s") % {"metric": title},
    )
