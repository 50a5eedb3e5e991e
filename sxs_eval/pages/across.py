"""All comparisons of a project in words and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import Estimate, RangePlot, range_plot
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import BOUNDS, Gain, SignTest, Undefined, bound_message
from crosslens_metrics.reports.comparisons import RankedComponent, RankedModel, RankedPair, Ranking
from sxs_eval.models import Comparison
from sxs_eval.pages.report import gain_interval, has_values, with_interval
from sxs_eval.selectors.across import ComparisonResult, Overall, PooledResult


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
class ModelLine:
    model: str
    strength: str
    mark: str
    """Whether only the prior keeps the strength finite."""
    interval: str
    why: str


@dataclass(frozen=True)
class PairLine:
    stronger: str
    weaker: str
    difference: str
    interval: str
    is_bounded: bool
    is_separable: bool
    more: str
    why: str


@dataclass(frozen=True)
class ComponentPart:
    """The ranking of models that were compared with each other, directly or through others."""

    models: Sequence[ModelLine]
    pairs: Sequence[PairLine]
    plot: RangePlot
    plot_id: str
    """Its id on the page."""
    is_marked: bool
    signature: str


@dataclass(frozen=True)
class AcrossPage:
    overall: Overall
    results: Sequence[ResultLine]
    pooled: Sequence[ResultLine]
    gain_plot: RangePlot | None
    ranking: Sequence[ComponentPart]
    """Empty if too few models were compared."""


def across_page(overall: Overall) -> AcrossPage:
    estimates = [_estimate(result) for result in overall.results]
    return AcrossPage(
        overall=overall,
        results=[_result_line(result) for result in overall.results],
        pooled=[_pooled_line(result) for result in overall.pooled],
        gain_plot=range_plot(_("Gain of each comparison, in points"), estimates, reference=0)
        if has_values(estimates)
        else None,
        ranking=_component_parts(overall.ranking) if overall.ranking else [],
    )


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
        gain=_gain(gain),
        interval=gain_interval(gain),
        p=_p(outcome.sign_test),
        alpha="" if isinstance(alpha, Undefined) else texts.plain(alpha, 3),
        needed="" if isinstance(result.images_needed, Undefined) else str(result.images_needed),
        why=texts.why(gain) or texts.why(getattr(gain, "interval", None), outcome.sign_test, alpha),
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
        wins=texts.percent(100 * pooled.wins / outcomes) if outcomes else "",
        losses=texts.percent(100 * pooled.losses / outcomes) if outcomes else "",
        gain=_gain(pooled.gain),
        interval=gain_interval(pooled.gain),
        p=_p(pooled.sign_test),
        alpha="",
        needed="",
        why=texts.why(pooled.gain) or texts.why(getattr(pooled.gain, "interval", None), pooled.sign_test),
    )


def _percent(value: float | Undefined) -> str:
    return "" if isinstance(value, Undefined) else texts.percent(value)


def _gain(gain: Gain | Undefined) -> str:
    return "" if isinstance(gain, Undefined) else texts.signed(gain.points)


def _p(test: SignTest | Undefined) -> str:
    return "" if isinstance(test, Undefined) else texts.p_value(test.p).removeprefix("p = ").removeprefix("p ")


def _estimate(result: ComparisonResult) -> Estimate:
    comparison, gain = result.comparison, result.summary.outcome.gain
    return Estimate(
        label=_("%(test)s against %(base)s, %(language)s")
        % {"test": comparison.test, "base": comparison.base, "language": comparison.language.name},
        text=with_interval(_gain(gain), gain_interval(gain)) or _("undefined"),
        value=None if isinstance(gain, Undefined) else gain.points,
        interval=gain.interval if isinstance(gain, Gain) and isinstance(gain.interval, Interval) else None,
    )


def _model_line(model: RankedModel) -> ModelLine:
    return ModelLine(
        model.model,
        _strength(model),
        bound_message(model.bound),
        texts.between(model.interval, 2, with_sign=True),
        texts.why(model.interval),
    )


def _strength(model: RankedModel) -> str:
    return "" if isinstance(model.strength, Undefined) else texts.signed(model.strength, 2)


def _pair_line(pair: RankedPair) -> PairLine:
    return PairLine(
        stronger=pair.stronger,
        weaker=pair.weaker,
        difference=texts.plain(pair.difference, 2),
        interval=texts.between(pair.interval, 2, with_sign=True),
        is_bounded=not isinstance(pair.separable, Undefined),
        is_separable=pair.separable is True,
        more="" if isinstance(pair.more_images, Undefined) else str(pair.more_images),
        why=texts.why(pair.interval, pair.separable, pair.more_images),
    )


def _component_parts(ranking: Ranking) -> list[ComponentPart]:
    return [
        ComponentPart(
            models=[_model_line(model) for model in component.models],
            pairs=[_pair_line(pair) for pair in component.pairs],
            plot=_strength_plot(component),
            plot_id=f"ranking-plot-{number}",
            is_marked=any(model.bound in BOUNDS for model in component.models),
            signature=_signature(ranking, component),
        )
        for number, component in enumerate(ranking.components, start=1)
    ]


def _strength_plot(component: RankedComponent) -> RangePlot:
    estimates = [
        Estimate(
            label=model.model,
            text=with_interval(_strength(model), texts.between(model.interval, 2, with_sign=True)) or _("undefined"),
            value=None if isinstance(model.strength, Undefined) else model.strength,
            interval=model.interval if isinstance(model.interval, Interval) else None,
        )
        for model in component.models
    ]
    return range_plot(_("Strength of each model"), estimates, reference=0)


def _signature(ranking: Ranking, component: RankedComponent) -> str:
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
