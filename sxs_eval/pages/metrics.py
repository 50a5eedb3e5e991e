"""How well a metric predicts people's gains, in words and plots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.plots import DrawnPlot, PlotPoint, scatter_plot
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.reports.correlations import RESAMPLES, CorrelationReport
from crosslens_metrics.reports.evaluation_points import ANY_METRIC, PointRules
from crosslens_metrics.reports.figures import UndefinedScore
from crosslens_metrics.reports.metric_agreement import (
    DifferenceFigure,
    MetricAgreement,
    MetricDifferences,
    TestFigure,
)
from crosslens_metrics.sampling.designs import SamplingDesign
from crosslens_metrics.sampling.intervals import LEVEL, Interval
from research.scoring.selectors.scores import shown_times, title_of
from sxs_eval.formats.metric_gains import SEED, correlations
from sxs_eval.pages.gains import interval_label, report_link
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.across import EvaluationMetrics, EvaluationTable, LackingReason
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, figure, isolated, long_note, note, parts, tag

CorrelatedPart = tuple[str, MetricAgreement]
"""All evaluations, those in the core languages, or the others: their name, and how far people and metric agree."""


def metrics_page(evaluations: EvaluationTable, *, metric: str, rules: PointRules) -> dict[str, Any]:
    """Return what the page of a metric shows; an unknown one is replaced by the first."""
    names = evaluations.metrics
    metric = metric if metric in names else next(iter(names), "")
    title = title_of(metric) if metric else ""
    rows = evaluations.rows if metric else []
    plotted = [row for row in rows if not _why(row, metric, rules)]
    others = [name for name in names if name != metric]
    report = correlations(evaluations, [metric], rules=rules, others=others) if plotted else None
    core = _("Core languages (%(languages)s)") % {"languages": ", ".join(CORE)}
    groups = report.agreements.values() if report else []
    agreed = zip((_("All"), core, _("Other languages")), (group[metric] for group in groups), strict=False)
    return {
        "metric": metric,
        "title": title,
        "metrics": [(name, title_of(name)) for name in names],
        "references": evaluations.references,
        "references_used": ", ".join(evaluations.used(metric)) if metric else "",
        "known_references": [(name, name) for name in evaluations.known],
        "table": PageTable("evaluations", _("Comparisons"), _columns(metric, title, rules), rows),
        "plot": _plot(title, metric, plotted) if plotted else None,
        "correlations": PageTable("correlations", _("Correlations"), _correlation_columns(), list(agreed)),
        "notes": _notes(report, len(names)) if report else [],
        "unlike": report.unlike[metric] if report else [],
        "differences": PageTable(
            "differences",
            _("Correlation of %(metric)s less that of other metrics") % {"metric": title},
            _difference_columns(),
            report.differences if report else [],
        ),
        "left_out": len(rows) - len(plotted),
        "resamples": RESAMPLES,
        "seed": SEED,
    }


def _notes(report: CorrelationReport, metrics: int) -> list[str]:
    """Say what the intervals over all languages hold for, and how small a p-value can be."""
    (agreed,) = next(iter(report.agreements.values())).values()
    over = _("In the line below: 95%% interval over comparisons, %(words)s.") % {"words": report.over_evaluations.words}
    if not isinstance(agreed.design, SamplingDesign):
        return [texts.reason_undefined(agreed.design), over]
    values = {"words": agreed.design.words, "degrees": agreed.degrees_of_freedom}
    notes = [
        _("Over all languages: 95%% interval, %(words)s, %(degrees)s degrees of freedom.") % values,
        over,
    ]
    if agreed.smallest_p is not None:
        text = _(
            "For p, the scores of the models change places, in all languages alike. With %(models)s models no p-value "
            "below %(smallest)s is possible."
        )
        notes.append(text % {"models": agreed.models, "smallest": texts.plain_number(agreed.smallest_p, 4)})
        if metrics > 1:
            text = _(
                "p is of this metric alone. If you choose it from %(metrics)s for its p-value, only one below "
                "%(level)s is evidence (Bonferroni)."
            )
            notes.append(text % {"metrics": metrics, "level": texts.plain_number((1 - LEVEL) / metrics, 4)})
    return notes


def _columns(metric: str, title: str, rules: PointRules) -> list[TableColumn[EvaluationMetrics]]:
    return [
        TableColumn(
            "models",
            _("Models"),
            lambda row: parts(report_link(row.comparison), tag(_chosen_by(row))),
            kind="of-models",
        ),
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
            lambda row: parts(isolated(row.differences[metric].references), long_note(_why(row, metric, rules))),
            kind=TEXT,
        ),
    ]


def _chosen_by(row: EvaluationMetrics) -> str:
    chosen_by = row.comparison.chosen_by
    if chosen_by == ANY_METRIC:
        return _("chosen by scores")
    return _("chosen by %(metric)s") % {"metric": title_of(chosen_by)} if chosen_by else ""


def _correlation_columns() -> list[TableColumn[CorrelatedPart]]:
    coefficients = zip(Coefficient, ("Pearson", "Spearman", "Kendall τ-b", "Matthews"), strict=True)
    return [
        TableColumn("languages", _("Languages"), lambda part: part[0], kind=TEXT),
        TableColumn("evaluations", _("Comparisons"), lambda part: part[1].evaluations),
        TableColumn("points", _("Points"), lambda part: part[1].points),
        TableColumn("models", _("Models"), lambda part: part[1].models),
        *(TableColumn(name, name, partial(_correlation, coefficient), kind=TEXT) for coefficient, name in coefficients),
    ]


def _correlation(coefficient: Coefficient, part: CorrelatedPart) -> str:
    found = part[1].coefficients[coefficient]
    value = "" if isinstance(found.value, UndefinedScore) else texts.coefficient(found.value, with_sign=True)
    over = _interval(found.over_evaluations)
    return parts(
        isolated(value) or NO_VALUE,
        figure(_interval(found.interval)),
        note(isolated(texts.p_value(found.test.p) if isinstance(found.test, TestFigure) else "")),
        long_note(texts.reason_undefined(found.value, found.interval, found.test, found.over_evaluations)),
        long_note(_("over comparisons: %(interval)s") % {"interval": over} if over else ""),
    )


def _interval(interval: Interval | UndefinedScore | None) -> str:
    return texts.interval_text(interval, 2, with_sign=True) if isinstance(interval, Interval) else ""


def _difference_columns() -> list[TableColumn[MetricDifferences]]:
    def pearson(row: MetricDifferences) -> DifferenceFigure | UndefinedScore:
        return row.coefficients[Coefficient.PEARSON]

    def shown(row: MetricDifferences) -> str:
        found = pearson(row)
        if isinstance(found, UndefinedScore):
            return long_note(found.message)
        return isolated(texts.signed_number(found.z, 2))

    def of(row: MetricDifferences, name: str) -> Any:
        return getattr(pearson(row), name, None)

    def p(row: MetricDifferences, name: str) -> str:
        value = of(row, name)
        return "" if value is None else figure(texts.p_value(value).removeprefix("p = ").removeprefix("p "))

    return [
        TableColumn("other", _("Other metric"), lambda row: isolated(title_of(row.second)), kind=TEXT),
        TableColumn("evaluations", _("Comparisons"), lambda row: row.evaluations),
        TableColumn("z", _("Difference of Fisher’s z"), shown),
        TableColumn("interval", interval_label(), lambda row: figure(_interval(of(row, "interval"))), kind=TEXT),
        TableColumn("p", _("p-value"), lambda row: p(row, "p")),
        TableColumn("holm", _("p by Holm"), lambda row: p(row, "holm")),
    ]


def _gain(row: EvaluationMetrics) -> str:
    return "" if isinstance(row.gain, UndefinedComparison) else texts.signed_number(row.gain)


def _difference(row: EvaluationMetrics, metric: str) -> str:
    difference = row.differences[metric].value
    return "" if difference is None else texts.signed_number(difference * shown_times(metric), 2)


def _is_core(row: EvaluationMetrics) -> bool:
    return row.comparison.language_id in CORE


def _why(row: EvaluationMetrics, metric: str, rules: PointRules) -> str:
    """Say why an evaluation is no point; empty if it is."""
    difference, comparison = row.differences[metric], row.comparison
    if isinstance(row.gain, UndefinedComparison):
        return row.gain.message
    if difference.lacking is LackingReason.SCORES:
        text = _("%(base)s and %(test)s have no scores against the same references.")
        return text % {"base": comparison.base, "test": comparison.test}
    if difference.lacking is LackingReason.ALIKE:
        return _("The two models were scored differently (%(parts)s).") % {"parts": "; ".join(difference.parts)}
    if row.images < rules.min_images:
        text = ngettext(
            "No point: fewer than %(number)s image judged.",
            "No point: fewer than %(number)s images judged.",
            rules.min_images,
        )
        return text % {"number": rules.min_images}
    if comparison.chosen_by in (metric, ANY_METRIC) and not rules.with_chosen:
        return _("No point: it was planned because of these scores.")
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
