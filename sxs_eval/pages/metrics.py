"""How well a metric predicts people's gains: a plot of gain against difference, and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import PlotPoint, ScatterPlot, scatter_plot
from core.people.pages.addresses import address
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.reports.correlations import CorrelationReport
from crosslens_metrics.reports.metric_agreement import RESAMPLES, CorrelationFigure, MetricAgreement
from crosslens_metrics.reports.score_figures import UndefinedScore
from research.scoring.selectors.scores import shown_times, title_of
from sxs_eval.formats.metric_gains import SEED, correlations
from sxs_eval.models import Comparison
from sxs_eval.pages.report import against
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.metrics import EvaluationMetrics, EvaluationTable, LackingReason, MetricDifference
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, isolated, link, note, parts, tag


@dataclass(frozen=True)
class EvaluationLine:
    """An evaluation; `why` says why it is not in the plot, and is empty if it is."""

    comparison: Comparison
    images: int
    gain: str
    difference: str
    references: str
    is_core: bool
    why: str


@dataclass(frozen=True)
class MetricCell:
    value: str
    interval: str
    why: str


@dataclass(frozen=True)
class PartLine:
    """Correlations over all evaluations, those in the core languages, or the others."""

    name: str
    evaluations: int
    points: int
    cells: Sequence[MetricCell]


@dataclass(frozen=True)
class MetricsPage:
    metric: str
    title: str
    metrics: Sequence[tuple[str, str]]
    flip: bool
    references: str
    known_references: Sequence[tuple[str, str]]
    lines: Sequence[EvaluationLine]
    table: PageTable[EvaluationLine]
    plot: ScatterPlot | None
    parts: Sequence[PartLine]
    correlations: PageTable[PartLine]
    resamples: int
    seed: int


def metrics_page(evaluations: EvaluationTable, *, metric: str, flip: bool) -> MetricsPage:
    """Return the page of a metric; an unknown one is replaced by the first."""
    names = evaluations.metrics
    metric = metric if metric in names else next(iter(names), "")
    lines = [_line(row, metric) for row in evaluations.rows] if metric else []
    points = [_point(row, metric) for row, line in zip(evaluations.rows, lines, strict=False) if not line.why]
    report = correlations(evaluations, metric, flip=flip) if points else None
    title = title_of(metric) if metric else ""
    groups = _parts(report, metric) if report else []
    return MetricsPage(
        metric=metric,
        title=title,
        metrics=[(name, title_of(name)) for name in names],
        flip=flip,
        references=evaluations.references,
        known_references=[(name, name) for name in evaluations.known],
        lines=lines,
        table=PageTable("evaluations", _("Comparisons"), _columns(title), lines),
        plot=_plot(title, points, lines) if points else None,
        parts=groups,
        correlations=PageTable("correlations", _("Correlations"), _correlation_columns(), groups),
        resamples=RESAMPLES,
        seed=SEED,
    )


def _columns(title: str) -> list[TableColumn[EvaluationLine]]:
    return [
        TableColumn("models", _("Models"), _models, kind="of-models"),
        TableColumn(
            "language",
            _("Language"),
            lambda line: parts(line.comparison.language.name, tag(_("core") if line.is_core else "")),
            kind=TEXT,
        ),
        TableColumn("gain", _("ΔSxS"), lambda line: isolated(line.gain)),
        TableColumn("difference", _("Δ%(metric)s") % {"metric": title}, lambda line: isolated(line.difference)),
        TableColumn("images", _("Images judged"), lambda line: line.images),
        TableColumn(
            "references", _("References"), lambda line: parts(isolated(line.references), note(line.why)), kind=TEXT
        ),
    ]


def _models(line: EvaluationLine) -> str:
    comparison = line.comparison
    url = address("sxs_eval:comparison-show", comparison.project.slug, comparison.pk)
    return link(url, against(comparison.base.name, comparison.test.name))


def _correlation_columns() -> list[TableColumn[PartLine]]:
    coefficients = ("Pearson", "Spearman", "Kendall τ-b", "Matthews")
    return [
        TableColumn("languages", _("Languages"), lambda part: part.name, kind=TEXT),
        TableColumn("evaluations", _("Comparisons"), lambda part: part.evaluations),
        TableColumn("points", _("Points"), lambda part: part.points),
        *(
            TableColumn(name, name, partial(_correlation, number), kind=TEXT)
            for number, name in enumerate(coefficients)
        ),
    ]


def _correlation(number: int, part: PartLine) -> str:
    cell = part.cells[number]
    return parts(isolated(cell.value) or NO_VALUE, note(isolated(cell.interval)), note(cell.why))


def _line(row: EvaluationMetrics, metric: str) -> EvaluationLine:
    difference = row.differences[metric]
    return EvaluationLine(
        comparison=row.comparison,
        images=row.images,
        gain="" if isinstance(row.gain, UndefinedComparison) else texts.signed_number(row.gain),
        difference="" if difference.value is None else texts.signed_number(difference.value * shown_times(metric), 2),
        references=difference.references,
        is_core=row.comparison.language_id in CORE,
        why=texts.reason_undefined(row.gain) or _why(difference, row.comparison),
    )


def _why(difference: MetricDifference, comparison: Comparison) -> str:
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
    kind = "core" if row.comparison.language_id in CORE else "rest"
    return PlotPoint(row.gain, difference * shown_times(metric), kind)


def _plot(title: str, points: Sequence[PlotPoint], lines: Sequence[EvaluationLine]) -> ScatterPlot:
    said = _("%(test)s against %(base)s, %(language)s: people %(gain)s, metric %(difference)s")
    summary = "; ".join(
        said
        % {
            "test": line.comparison.test,
            "base": line.comparison.base,
            "language": line.comparison.language.name,
            "gain": line.gain,
            "difference": line.difference,
        }
        for line in lines
        if not line.why
    )
    name = _("Difference in %(metric)s") % {"metric": title}
    return scatter_plot(
        _("Human gain and the difference in %(metric)s") % {"metric": title},
        points,
        summary=summary,
        x_name=_("ΔSxS, in points"),
        y_name=name,
    )


def _parts(report: CorrelationReport, metric: str) -> list[PartLine]:
    """Order groups as in the report: all, the core languages, the others."""
    core = _("Core languages (%(languages)s)") % {"languages": ", ".join(CORE)}
    names = (_("All"), core, _("Other languages"))
    return [_part(name, by_metric[metric]) for name, by_metric in zip(names, report.agreements.values(), strict=False)]


def _part(name: str, agreed: MetricAgreement) -> PartLine:
    cells = [_cell(agreed.coefficients[coefficient]) for coefficient in Coefficient]
    return PartLine(name, agreed.evaluations, agreed.points, cells)


def _cell(correlation: CorrelationFigure) -> MetricCell:
    value = "" if isinstance(correlation.value, UndefinedScore) else texts.signed_number(correlation.value, 2)
    bounds = correlation.interval
    interval = texts.interval_text(bounds, 2, with_sign=True) if isinstance(bounds, Interval) else ""
    return MetricCell(value, interval, texts.reason_undefined(correlation.value, correlation.interval))
