"""Gains in words and plots, with what their intervals generalise to."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, IntervalEstimate, range_plot
from core.people.pages import address
from crosslens_metrics.reports.comparison_figures import (
    GainFigure,
    UndefinedComparison,
)
from crosslens_metrics.sampling.intervals import Interval
from sxs_eval.models import Comparison
from sxs_eval.selectors.across import interval_of
from tabular.tables import figure, link, long_note


def against(base: str, test: str) -> str:
    return render_to_string("sxs_eval/_models.html", {"base": base, "test": test})


def report_link(comparison: Comparison) -> str:
    url = address("sxs_eval:comparison-show", comparison.project.slug, comparison.pk)
    return link(url, against(comparison.base.name, comparison.test.name))


def interval_label() -> str:
    return _("95%% confidence interval") % {}


def gain_points(gain: GainFigure | UndefinedComparison) -> str:
    return "" if isinstance(gain, UndefinedComparison) else texts.signed_number(gain.points)


def gain_interval(gain: GainFigure | UndefinedComparison) -> str:
    return "" if isinstance(gain, UndefinedComparison) else texts.interval_text(gain.interval, with_sign=True)


def why_no_gain(gain: GainFigure | UndefinedComparison) -> str:
    """Say why a gain, or its interval, is undefined."""
    return texts.reason_undefined(gain, interval_of(gain))


def interval_or_why(gain: GainFigure | UndefinedComparison) -> str:
    return figure(gain_interval(gain)) or long_note(why_no_gain(gain))


def gain_estimate(label: str, gain: GainFigure | UndefinedComparison) -> IntervalEstimate:
    interval = interval_of(gain)
    return IntervalEstimate(
        label=label,
        text=texts.with_interval(gain_points(gain), gain_interval(gain)) or _("undefined"),
        value=None if isinstance(gain, UndefinedComparison) else gain.points,
        interval=interval if isinstance(interval, Interval) else None,
    )


def gain_plot(title: str, estimates: Sequence[IntervalEstimate]) -> DrawnPlot | None:
    """Return None if no gain has a value."""
    return range_plot(title, estimates, reference=0) if any(one.value is not None for one in estimates) else None


def design_words(interval: Interval | UndefinedComparison) -> str:
    """What an interval generalises to; empty where there is none."""
    return interval.design.words if isinstance(interval, Interval) and interval.design else ""
