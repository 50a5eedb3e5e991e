"""All comparisons of a project in words and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import IntervalEstimate, RangePlot, range_plot
from core.people.pages.addresses import address
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import (
    BOUNDS,
    GainFigure,
    SignTest,
    UndefinedComparison,
    bound_message,
)
from crosslens_metrics.reports.comparisons import ModelRanking, RankedComponent, RankedModel, RankedPair
from sxs_eval.models import Comparison
from sxs_eval.pages.report import against, gain_interval, gain_points, has_values, interval_label, with_interval
from sxs_eval.selectors.across import ComparisonResult, OverallResults, PooledResult
from tabular.tables import TEXT, PageTable, TableColumn, figure, isolated, link, note, parts, tag


@dataclass(frozen=True)
class ResultLine:
    """One comparison, or, if `comparison` is None, several of the same two models."""

    comparison: Comparison | None
    base: str
    test: str
    languages: str
    images: int
    outcomes: int
    """What the percentages refer to: for several comparisons, one outcome per image and comparison."""
    incomplete: int
    set_aside: int
    wins: str
    losses: str
    gain: str
    interval: str
    p: str
    alpha: str
    needed: str
    why: str


@dataclass(frozen=True)
class ComponentPart:
    """The ranking of models that were compared with each other, directly or through others."""

    models: PageTable[RankedModel]
    pairs: PageTable[RankedPair]
    plot: RangePlot
    plot_id: str
    """Its id on the page."""
    is_marked: bool
    signature: str


@dataclass(frozen=True)
class AcrossPage:
    results: PageTable[ResultLine]
    pooled: PageTable[ResultLine]
    gain_plot: RangePlot | None
    ranking: Sequence[ComponentPart]
    """Empty if too few models were compared."""


def across_page(overall: OverallResults) -> AcrossPage:
    estimates = [_estimate(result) for result in overall.results]
    return AcrossPage(
        results=PageTable("comparisons", _("Comparisons"), _result_columns(), list(map(_result_line, overall.results))),
        pooled=PageTable("pooled-table", _("Pooled"), _pooled_columns(), list(map(_pooled_line, overall.pooled))),
        gain_plot=range_plot(_("Gain of each comparison, in points"), estimates, reference=0)
        if has_values(estimates)
        else None,
        ranking=_component_parts(overall.ranking) if overall.ranking else [],
    )


def _result_columns() -> list[TableColumn[ResultLine]]:
    return [
        *_columns_before(),
        TableColumn("alpha", _("Alpha"), lambda line: isolated(line.alpha)),
        *_columns_after(),
        TableColumn("needed", _("Images needed"), lambda line: line.needed),
    ]


def _pooled_columns() -> list[TableColumn[ResultLine]]:
    return [*_columns_before(), TableColumn("outcomes", _("Outcomes"), lambda line: line.outcomes), *_columns_after()]


def _columns_before() -> list[TableColumn[ResultLine]]:
    return [
        TableColumn("models", _("Models"), _models, kind="of-models"),
        TableColumn("language", _("Language"), lambda line: line.languages, kind=TEXT),
        TableColumn("gain", _("ΔSxS"), lambda line: isolated(line.gain)),
        TableColumn("interval", interval_label(), lambda line: figure(line.interval), kind=TEXT),
        TableColumn("wins", _("WINS"), lambda line: line.wins),
        TableColumn("losses", _("LOSSES"), lambda line: line.losses),
        TableColumn("p", _("p-value"), lambda line: figure(line.p)),
    ]


def _columns_after() -> list[TableColumn[ResultLine]]:
    return [
        TableColumn("images", _("Images"), lambda line: line.images),
        TableColumn("incomplete", _("Incomplete"), lambda line: line.incomplete),
        TableColumn("set_aside", _("Set aside"), lambda line: line.set_aside),
    ]


def _models(line: ResultLine) -> str:
    models = against(line.base, line.test)
    if line.comparison is None:
        return models
    return link(address("sxs_eval:comparison-show", line.comparison.project.slug, line.comparison.pk), models)


def _result_line(result: ComparisonResult) -> ResultLine:
    comparison, outcome, alpha = result.comparison, result.summary.outcome, result.summary.alpha
    gain = outcome.gain
    return ResultLine(
        comparison=comparison,
        base=comparison.base.name,
        test=comparison.test.name,
        languages=comparison.language.name,
        images=outcome.images.denominator,
        outcomes=outcome.images.denominator,
        incomplete=outcome.images.incomplete,
        set_aside=result.set_aside.total,
        wins=_percent(outcome.wins.percent),
        losses=_percent(outcome.losses.percent),
        gain=gain_points(gain),
        interval=gain_interval(gain),
        p=_p(outcome.sign_test),
        alpha="" if isinstance(alpha, UndefinedComparison) else texts.plain_number(alpha, 3),
        needed="" if isinstance(result.images_needed, UndefinedComparison) else str(result.images_needed),
        why=texts.reason_undefined(gain)
        or texts.reason_undefined(getattr(gain, "interval", None), outcome.sign_test, alpha),
    )


def _pooled_line(result: PooledResult) -> ResultLine:
    pooled = result.pooled
    outcomes = pooled.outcomes
    return ResultLine(
        comparison=None,
        base=result.base,
        test=result.test,
        languages=", ".join(dict.fromkeys(part.language.name for part in result.comparisons)),
        images=pooled.images,
        outcomes=outcomes,
        incomplete=result.incomplete,
        set_aside=result.set_aside,
        wins=texts.percentage(100 * pooled.wins / outcomes) if outcomes else "",
        losses=texts.percentage(100 * pooled.losses / outcomes) if outcomes else "",
        gain=gain_points(pooled.gain),
        interval=gain_interval(pooled.gain),
        p=_p(pooled.sign_test),
        alpha="",
        needed="",
        why=texts.reason_undefined(pooled.gain)
        or texts.reason_undefined(getattr(pooled.gain, "interval", None), pooled.sign_test),
    )


def _percent(value: float | UndefinedComparison) -> str:
    return "" if isinstance(value, UndefinedComparison) else texts.percentage(value)


def _p(test: SignTest | UndefinedComparison) -> str:
    return (
        "" if isinstance(test, UndefinedComparison) else texts.p_value(test.p).removeprefix("p = ").removeprefix("p ")
    )


def _estimate(result: ComparisonResult) -> IntervalEstimate:
    comparison, gain = result.comparison, result.summary.outcome.gain
    return IntervalEstimate(
        label=_("%(test)s against %(base)s, %(language)s")
        % {"test": comparison.test, "base": comparison.base, "language": comparison.language.name},
        text=with_interval(gain_points(gain), gain_interval(gain)) or _("undefined"),
        value=None if isinstance(gain, UndefinedComparison) else gain.points,
        interval=gain.interval if isinstance(gain, GainFigure) and isinstance(gain.interval, Interval) else None,
    )


def _model_columns() -> list[TableColumn[RankedModel]]:
    return [
        TableColumn("model", _("Model"), lambda model: isolated(model.model), kind=TEXT),
        TableColumn(
            "strength",
            _("Strength"),
            lambda model: parts(isolated(_strength(model)), tag(bound_message(model.bound), "warning")),
        ),
        TableColumn(
            "interval",
            interval_label(),
            lambda model: (
                figure(texts.interval_text(model.interval, 2, with_sign=True)) or texts.reason_undefined(model.interval)
            ),
            kind=TEXT,
        ),
    ]


def _strength(model: RankedModel) -> str:
    return "" if isinstance(model.strength, UndefinedComparison) else texts.signed_number(model.strength, 2)


def _pair_columns() -> list[TableColumn[RankedPair]]:
    return [
        TableColumn("stronger", _("Stronger"), lambda pair: isolated(pair.stronger), kind=TEXT),
        TableColumn("weaker", _("Weaker"), lambda pair: isolated(pair.weaker), kind=TEXT),
        TableColumn("lead", _("Lead"), lambda pair: isolated(texts.plain_number(pair.difference, 2))),
        TableColumn(
            "interval",
            interval_label(),
            lambda pair: figure(texts.interval_text(pair.interval, 2, with_sign=True)),
            kind=TEXT,
        ),
        TableColumn("separable", _("With the images so far"), _separable, kind=TEXT),
    ]


def _separable(pair: RankedPair) -> str:
    why = note(texts.reason_undefined(pair.interval, pair.separable, pair.more_images))
    if isinstance(pair.separable, UndefinedComparison):
        return why
    if pair.separable:
        return tag(_("separable"), "success")
    more = None if isinstance(pair.more_images, UndefinedComparison) else pair.more_images
    return parts(tag(_("not separable"), "warning"), _("about %(more)s more images") % {"more": more} if more else why)


def _component_parts(ranking: ModelRanking) -> list[ComponentPart]:
    return [
        ComponentPart(
            models=PageTable(f"strengths-{number}", _("Strengths"), _model_columns(), component.models),
            pairs=PageTable(f"separable-{number}", _("Which models differ clearly"), _pair_columns(), component.pairs),
            plot=_strength_plot(component),
            plot_id=f"ranking-plot-{number}",
            is_marked=any(model.bound in BOUNDS for model in component.models),
            signature=_signature(ranking, component),
        )
        for number, component in enumerate(ranking.components, start=1)
    ]


def _strength_plot(component: RankedComponent) -> RangePlot:
    estimates = [
        IntervalEstimate(
            label=model.model,
            text=with_interval(_strength(model), texts.interval_text(model.interval, 2, with_sign=True))
            or _("undefined"),
            value=None if isinstance(model.strength, UndefinedComparison) else model.strength,
            interval=model.interval if isinstance(model.interval, Interval) else None,
        )
        for model in component.models
    ]
    return range_plot(_("Strength of each model"), estimates, reference=0)


def _signature(ranking: ModelRanking, component: RankedComponent) -> str:
    signature = ranking.signature
    text = _("%(method)s/%(version)s, %(images)s images, %(resamples)s bootstrap resamples, seed %(seed)s")
    values = {
        "method": signature.method,
        "version": signature.version,
        "images": component.images,
        "resamples": signature.resamples,
        "seed": signature.seed,
    }
    unfitted = _("; the strengths were undefined in %(number)s resamples") % {"number": component.resamples_unfitted}
    return text % values + (unfitted if component.resamples_unfitted else "")
