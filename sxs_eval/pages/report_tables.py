"""Tables and plots of a report: levels given, regions, places and raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, IntervalEstimate, bar_plot, range_plot
from crosslens_metrics.reports.comparison_figures import (
    ImagePart,
    RaterFigures,
    RegionOutcome,
    ReportedFigures,
    TrialShare,
    UndefinedComparison,
)
from crosslens_metrics.scales import FIVE_POINTS, Scale
from research.selection.models import PlaceLevelChoice
from sxs_eval.models import LEFT_OUT, RaterState
from sxs_eval.pages.gains import (
    gain_points,
    interval_label,
    interval_or_why,
)
from sxs_eval.selectors.results import ReportedRater
from tabular.tables import TEXT, TableColumn, figure, isolated, parts, tag

EVEN = 50.0
"""Percent of preferences for the left side by a rater without a bias."""
WHOLE = (0.0, 100.0)


def distribution_plot(report: ReportedFigures, *, scale: Scale) -> DrawnPlot:
    return bar_plot(
        _("Judgements by level, test against base") if scale.points > FIVE_POINTS.points else _("Judgements by level"),
        [(level.name, report.distribution[level.number], _kind(level.number)) for level in scale.levels],
    )


def bar_columns() -> list[TableColumn[dict[str, Any]]]:
    return [
        TableColumn("level", _("Level"), lambda bar: bar["label"], kind=TEXT),
        TableColumn("judgements", _("Judgements"), lambda bar: bar["value"]),
    ]


def _kind(score: int) -> str:
    return "better" if score > 0 else "worse" if score < 0 else "similar"


def _part(part: ImagePart) -> str:
    return "" if isinstance(part.percent, UndefinedComparison) else f"{texts.percentage(part.percent)} ({part.count})"


def count_of(count: int, total: int) -> str:
    return _("%(count)s of %(total)s") % {"count": count, "total": total}


def region_name(region: str) -> str:
    return region or _("unknown")


def region_columns() -> list[TableColumn[RegionOutcome]]:
    images, *gain = _gain_columns()
    return [
        TableColumn("region", _("Region"), lambda part: region_name(part.region), kind=TEXT),
        images,
        TableColumn("incomplete", _("Incomplete"), lambda part: part.outcome.images.incomplete),
        TableColumn("wins", _("WINS"), lambda part: _part(part.outcome.wins)),
        TableColumn("losses", _("LOSSES"), lambda part: _part(part.outcome.losses)),
        *gain,
    ]


def level_columns() -> list[TableColumn[RegionOutcome]]:
    return [
        TableColumn("level", _("Level"), lambda part: PlaceLevelChoice(part.region).label, kind=TEXT),
        *_gain_columns(),
    ]


def _gain_columns() -> list[TableColumn[RegionOutcome]]:
    return [
        TableColumn("images", _("Images"), lambda part: part.outcome.images.denominator),
        TableColumn("gain", _("ΔSxS"), lambda part: isolated(gain_points(part.outcome.gain))),
        TableColumn("interval", interval_label(), lambda part: interval_or_why(part.outcome.gain), kind=TEXT),
    ]


def left_plot(raters: Sequence[RaterFigures]) -> DrawnPlot:
    estimates = [
        IntervalEstimate(row.rater, texts.percentage(row.left.percent, 0), row.left.percent, row.left.interval)
        for row in raters
        if isinstance(row.left, TrialShare)
    ]
    return range_plot(
        _("Left side preferred, by rater, in percent"),
        estimates,
        reference=EVEN,
        ends=WHOLE,
        step=EVEN / 2,
        has_short_labels=True,
    )


def rater_columns() -> list[TableColumn[ReportedRater]]:
    return [
        TableColumn("name", _("Rater"), _rater_name, kind=TEXT),
        TableColumn("judgements", _("Counted"), lambda row: row.figures.judgements if row.figures else 0),
        TableColumn("set_aside", _("Set aside"), lambda row: row.set_aside),
        TableColumn("left", _("Left preferred"), lambda row: (left := _left(row)) and percent_of(left)),
        TableColumn(
            "interval",
            interval_label(),
            lambda row: (left := _left(row)) and figure(texts.interval_text(left.interval)),
            kind=TEXT,
        ),
        TableColumn("seconds", _("Median seconds"), _seconds),
        TableColumn("same", _("Repeats: same answer"), lambda row: row.figures and _count(row.figures.flips.same)),
        TableColumn(
            "opposite", _("Repeats: opposite answer"), lambda row: row.figures and _count(row.figures.flips.opposite)
        ),
        TableColumn("checks", _("Attention items failed"), _failed),
    ]


def _rater_name(row: ReportedRater) -> str:
    kind = "warning" if row.state in (RaterState.PAUSED, *LEFT_OUT) else ""
    state = RaterState(row.state).label if row.state else ""
    scripted = _("looks scripted") if row.is_scripted else ""
    return parts(format_html("<code>{}</code>", row.name), tag(state, kind), tag(scripted, "warning"))


def _left(row: ReportedRater) -> TrialShare | None:
    return row.figures.left if row.figures and isinstance(row.figures.left, TrialShare) else None


def _seconds(row: ReportedRater) -> str | None:
    seconds = row.figures.seconds_median if row.figures else None
    return texts.plain_number(seconds) if isinstance(seconds, float) else None


def _failed(row: ReportedRater) -> str | None:
    counts = {"failed": sum(row.failures), "made": len(row.failures)}
    return _("%(failed)s of %(made)s") % counts if row.failures else None


def percent_of(share: TrialShare) -> str:
    return f"{texts.percentage(share.percent)} ({count_of(share.count, share.total)})"


def _count(share: TrialShare | UndefinedComparison) -> str:
    return count_of(share.count, share.total) if isinstance(share, TrialShare) else ""
