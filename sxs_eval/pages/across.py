"""All comparisons of a project in words and plots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, IntervalEstimate, range_plot
from crosslens_metrics.reports.comparison_figures import (
    BOUNDS,
    GainFigure,
    MeanGain,
    SignTest,
    UndefinedComparison,
    WithOtherRaters,
    bound_message,
)
from crosslens_metrics.reports.comparisons import ModelRanking, RankedComponent, RankedModel, RankedPair
from crosslens_metrics.sampling.intervals import Interval
from sxs_eval.pages.gains import (
    against,
    gain_estimate,
    gain_interval,
    gain_plot,
    gain_points,
    interval_label,
    report_link,
)
from sxs_eval.selectors.across import (
    ComparisonResult,
    OverallResults,
    other_raters_of,
)
from tabular.tables import TEXT, PageTable, TableColumn, figure, isolated, long_note, note, parts, tag


def across_page(overall: OverallResults, *, half_width: float) -> dict[str, Any]:
    estimates = [gain_estimate(_name_of(result), result.gain) for result in overall.results]
    return {
        "results": PageTable("comparisons", _("Comparisons"), _result_columns(half_width), overall.results),
        "pooled": PageTable("pooled-table", _("Pooled"), _pooled_columns(), overall.pooled),
        "unlike": overall.unlike,
        "are_images_apart": overall.are_images_apart,
        "gain_plot": gain_plot(_("Gain of each comparison, in points"), estimates),
        "ranking": _component_parts(overall.ranking) if overall.ranking else [],
    }


def _result_columns(half_width: float) -> list[TableColumn[ComparisonResult]]:
    return [
        *_columns_before(),
        TableColumn("alpha", _("Alpha"), lambda row: isolated(_number(row.alpha))),
        _images_column(),
        TableColumn(
            "width",
            _("Images for ± %(points)s points") % {"points": texts.plain_number(half_width, 0)},
            lambda row: _number_of(row.images_needed),
        ),
        TableColumn("needed", _("Images needed"), lambda row: _number_of(row.images_to_see), _images_to_see),
    ]


def _pooled_columns() -> list[TableColumn[ComparisonResult]]:
    return [
        *_columns_before(),
        TableColumn("outcomes", _("Outcomes"), lambda row: row.outcomes),
        _images_column(),
    ]


def _columns_before() -> list[TableColumn[ComparisonResult]]:
    return [
        TableColumn("models", _("Models"), _models, kind="of-models"),
        TableColumn("language", _("Language"), lambda row: row.languages, kind=TEXT),
        TableColumn("gain", _("ΔSxS"), lambda row: isolated(gain_points(row.gain))),
        TableColumn(
            "interval",
            interval_label(),
            lambda row: parts(
                figure(gain_interval(row.gain)),
                _with_others(other_raters_of(row.gain), 1),
                note(_mean_gain(row)),
            ),
            kind=TEXT,
        ),
        TableColumn("wins", _("WINS"), lambda row: _percent(row.percent(row.wins))),
        TableColumn("losses", _("LOSSES"), lambda row: _percent(row.percent(row.losses))),
        TableColumn("p", _("p-value"), lambda row: parts(figure(_p(row.sign_test)), *_corrected(row))),
    ]


def _images_column() -> TableColumn[ComparisonResult]:
    return TableColumn("images", _("Images"), lambda row: row.images, _images)


def _images(row: ComparisonResult) -> str:
    """Write the images that count, and under them what does not."""
    return parts(
        str(row.images),
        note(_("%(number)s incomplete") % {"number": row.incomplete} if row.incomplete else ""),
        note(_("%(number)s set aside") % {"number": row.set_aside} if row.set_aside else ""),
        note(_("from a file") if row.comparison and row.comparison.source else ""),
    )


def _images_to_see(row: ComparisonResult) -> str:
    """Write the images needed with these raters, and under them those with other raters."""
    others = row.gain.other_raters if isinstance(row.gain, GainFigure) else None
    images = others.images if isinstance(others, WithOtherRaters) else None
    number = _number_of(row.images_to_see)
    return parts(
        figure("" if number is None else str(number)),
        long_note(_("other raters: %(interval)s") % {"interval": images} if isinstance(images, str) else ""),
    )


def _mean_gain(row: ComparisonResult) -> str:
    mean = row.random_effects
    if not isinstance(mean, MeanGain):
        return ""
    values = {"mean": texts.signed_number(mean.points), "interval": texts.interval_text(mean.interval, with_sign=True)}
    return _("mean over comparisons %(mean)s: %(interval)s") % values


def _with_others(interval: Interval | UndefinedComparison | None, digits: int = 2) -> str:
    """Write an interval with other raters, under that of the raters there were."""
    if not isinstance(interval, Interval):
        return ""
    return note(_("other raters: %(interval)s") % {"interval": texts.interval_text(interval, digits, with_sign=True)})


def _models(row: ComparisonResult) -> str:
    return report_link(row.comparison) if row.comparison else against(row.base, row.test)


def _name_of(row: ComparisonResult) -> str:
    names = {"test": row.test, "base": row.base, "language": row.languages}
    return _("%(test)s against %(base)s, %(language)s") % names


def _number_of(images: int | UndefinedComparison | None) -> int | None:
    return images if isinstance(images, int) else None


def _number(alpha: float | UndefinedComparison | None) -> str:
    return texts.coefficient(alpha, 3) if isinstance(alpha, float) else ""


def _percent(value: float | None) -> str:
    return "" if value is None else texts.percentage(value)


def _p(test: SignTest | UndefinedComparison) -> str:
    return _pair_p(test if isinstance(test, UndefinedComparison) else test.p)


def _corrected(row: ComparisonResult) -> Iterator[str]:
    """Write p corrected for all comparisons of the table, with these raters, and with others."""
    if row.corrected and row.corrected.sign_test is not None:
        yield note(_("Holm: %(p)s") % {"p": _pair_p(row.corrected.sign_test)})
    if row.corrected and row.corrected.other_raters is not None:
        yield long_note(_("other raters: %(interval)s") % {"interval": _pair_p(row.corrected.other_raters)})


def _pair_p(p: float | UndefinedComparison) -> str:
    if isinstance(p, UndefinedComparison):
        return ""
    return texts.p_value(p).removeprefix("p = ").removeprefix("p ")


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
            lambda model: parts(
                figure(texts.interval_text(model.interval, 2, with_sign=True))
                or texts.reason_undefined(model.interval),
                _with_others(model.other_raters),
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
            lambda pair: parts(
                figure(texts.interval_text(pair.interval, 2, with_sign=True)),
                _with_others(pair.other_raters),
            ),
            kind=TEXT,
        ),
        TableColumn("p", _("p-value"), lambda pair: figure(_pair_p(pair.p))),
        TableColumn("p_holm", _("p, Holm"), lambda pair: figure(_pair_p(pair.p_holm))),
        TableColumn("separable", _("With the images so far"), _separable, kind=TEXT),
    ]


def _separable(pair: RankedPair) -> str:
    why = long_note(texts.reason_undefined(pair.interval, pair.separable, pair.more_images))
    if isinstance(pair.separable, UndefinedComparison):
        return why
    more = None if isinstance(pair.more_images, UndefinedComparison) else pair.more_images
    return parts(
        tag(pair.verdict, "success" if pair.separable else "warning"),
        note(_("with these raters: separable") if pair.is_separable_by_these_alone else ""),
        _("about %(more)s more images for an 80%% chance") % {"more": more} if more else why,
    )


def _component_parts(ranking: ModelRanking) -> list[dict[str, Any]]:
    """Return a part for each ranking of models that were compared with each other, directly or through others."""
    return [
        {
            "models": PageTable(f"strengths-{number}", _("Strengths"), _model_columns(), component.models),
            "pairs": PageTable(
                f"separable-{number}", _("Which models differ clearly"), _pair_columns(), component.pairs
            ),
            "plot": _strength_plot(component),
            "plot_id": f"ranking-plot-{number}",
            "is_marked": any(model.bound in BOUNDS for model in component.models),
            "signature": component.signature,
            "unlike": component.unlike,
            "images": component.images,
            "raters": component.raters,
        }
        for number, component in enumerate(ranking.components, start=1)
    ]


def _strength_plot(component: RankedComponent) -> DrawnPlot:
    estimates = [
        IntervalEstimate(
            label=model.model,
            text=texts.with_interval(_strength(model), texts.interval_text(model.interval, 2, with_sign=True))
            or _("undefined"),
            value=None if isinstance(model.strength, UndefinedComparison) else model.strength,
            interval=model.interval if isinstance(model.interval, Interval) else None,
        )
        for model in component.models
    ]
    return range_plot(_("Strength of each model"), estimates, reference=0)
