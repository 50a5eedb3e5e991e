"""How well a metric predicts people's gains: a plot of gain against difference, and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import Point, ScatterPlot, scatter_plot
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import Undefined
from crosslens_metrics.reports.correlations import CorrelationReport
from crosslens_metrics.reports.metric_agreement import RESAMPLES, Agreement, Correlation
from crosslens_metrics.reports.score_figures import Undefined as NoCorrelation
from people.pages.addresses import address
from scoring.selectors.scores import shown_times, title_of
from sxs_eval.formats.metric_gains import SEED, correlations
from sxs_eval.models import Comparison
from sxs_eval.pages.report import against
from sxs_eval.rules.planning import CORE
from sxs_eval.selectors.metrics import Difference, Evaluation, Evaluations, Lacking
from tabular.tables import NOTHING, TEXT, Column, Table, isolated, link, note, parts, tag


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
class Cell:
    value: str
    interval: str
    why: str


@dataclass(frozen=True)
class PartLine:
    """Correlations over all evaluations, those in the core languages, or the others."""

    name: str
    evaluations: int
    points: int
    cells: Sequence[Cell]


@dataclass(frozen=True)
class MetricsPage:
    metric: str
    title: str
    metrics: Sequence[tuple[str, str]]
    flip: bool
    references: str
    known_references: Sequence[tuple[str, str]]
    lines: Sequence[EvaluationLine]
    table: Table[EvaluationLine]
    plot: ScatterPlot | None
    parts: Sequence[PartLine]
    correlations: Table[PartLine]
    resamples: int
    seed: int


def metrics_page(evaluations: Evaluations, *, metric: str, flip: bool) -> MetricsPage:
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
        table=Table("evaluations", _("Comparisons"), _columns(title), lines),
        plot=_plot(title, points, lines) if points else None,
        parts=groups,
        correlations=Table("correlations", _("Correlations"), _correlation_columns(), groups),
        resamples=RESAMPLES,
        seed=SEED,
    )


def _columns(title: str) -> list[Column[EvaluationLine]]:
    return [
        Column("models", _("Models"), _models, kind="of-models"),
        Column(
            "language",
            _("Language"),
            lambda line: parts(line.comparison.language.name, tag(_("core") if line.is_core else "")),
            kind=TEXT,
        ),
        Column("gain", _("ΔSxS"), lambda line: isolated(line.gain)),
        Column("difference", _("Δ%(metric)s") % {"metric": title}, lambda line: isolated(line.difference)),
        Column("images", _("Images judged"), lambda line: line.images),
        Column("references", _("References"), lambda line: parts(isolated(line.references), note(line.why)), kind=TEXT),
    ]


def _models(line: EvaluationLine) -> str:
    comparison = line.comparison
    url = address("sxs_eval:comparison-show", comparison.project.slug, comparison.pk)
    return link(url, against(comparison.base.name, comparison.test.name))


def _correlation_columns() -> list[Column[PartLine]]:
    coefficients = ("Pearson", "Spearman", "Kendall τ-b", "Matthews")
    return [
        Column("languages", _("Languages"), lambda part: part.name, kind=TEXT),
        Column("evaluations", _("Comparisons"), lambda part: part.evaluations),
        Column("points", _("Points"), lambda part: part.points),
        *(Column(name, name, partial(_correlation, number), kind=TEXT) for number, name in enumerate(coefficients)),
    ]


def _correlation(number: int, part: PartLine) -> str:
    cell = part.cells[number]
    return parts(isolated(cell.value) or NOTHING, note(isolated(cell.interval)), note(cell.why))


def _line(row: Evaluation, metric: str) -> EvaluationLine:
    difference = row.differences[metric]
    return EvaluationLine(
        comparison=row.comparison,
        images=row.images,
        gain="" if isinstance(row.gain, Undefined) else texts.signed(row.gain),
        difference="" if difference.value is None else texts.signed(difference.value * shown_times(metric), 2),
        references=difference.references,
        is_core=row.comparison.language_id in CORE,
        why=texts.why(row.gain) or _why(difference, row.comparison),
    )


def _why(difference: Difference, comparison: Comparison) -> str:
    if difference.lacking is Lacking.SCORES:
        text = _("%(base)s and %(test)s have no scores against the same references.")
        return text % {"base": comparison.base, "test": comparison.test}
    if difference.lacking is Lacking.ALIKE:
        return _("The two models were scored differently (%(parts)s).") % {"parts": "; ".join(difference.parts)}
    return ""


def _point(row: Evaluation, metric: str) -> Point:
    difference = row.differences[metric].value
    assert not isinstance(row.gain, Undefined)
    assert difference is not None
    kind = "core" if row.comparison.language_id in CORE else "rest"
    return Point(row.gain, difference * shown_times(metric), kind)


def _plot(title: str, points: Sequence[Point], lines: Sequence[EvaluationLine]) -> ScatterPlot:
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


def _part(name: str, agreed: Agreement) -> PartLine:
    cells = [_cell(agreed.coefficients[coefficient]) for coefficient in Coefficient]
    return PartLine(name, agreed.evaluations, agreed.points, cells)


def _cell(correlation: Correlation) -> Cell:
    value = "" if isinstance(correlation.value, NoCorrelation) else texts.signed(correlation.value, 2)
    bounds = correlation.interval
    interval = texts.between(bounds, 2, with_sign=True) if isinstance(bounds, Interval) else ""
    return Cell(value, interval, texts.why(correlation.value, correlation.interval))
