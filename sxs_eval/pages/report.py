"""A report in words and plots: each figure with its interval and its meaning, or why it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.plots import BarPlot, Estimate, RangePlot, bar_plot, range_plot
from corpora.models import Level
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison import WIDTH_POINTS
from crosslens_metrics.reports.comparison_figures import (
    Gain,
    Outcome,
    Part,
    RaterFigures,
    RegionOutcome,
    Report,
    Share,
    Undefined,
)
from crosslens_metrics.scales import FIVE_POINTS, Scale
from sxs_eval.models import LEFT_OUT, RaterState
from sxs_eval.selectors.results import Evidence, RaterRow

EVEN = 50.0
"""Percent of preferences for the left side by a rater without a bias."""
WHOLE = (0.0, 100.0)


@dataclass(frozen=True)
class Line:
    """One figure. `why` says why it, or its interval, is undefined."""

    label: str
    value: str
    interval: str
    why: str
    meaning: str


@dataclass(frozen=True)
class RegionLine:
    region: str
    images: int
    incomplete: int
    wins: str
    losses: str
    gain: str
    interval: str
    why: str


@dataclass(frozen=True)
class RaterLine:
    name: str
    state: str
    """The rater's status in words; empty for those who were never paused."""
    is_out: bool
    is_scripted: bool
    judgements: int
    set_aside: int
    left: str
    left_interval: str
    seconds: str
    same: str
    opposite: str
    checks: str


@dataclass(frozen=True)
class ReportPage:
    report: Report
    headline: Sequence[Line]
    beside: Sequence[str]
    """What the headline leaves out: pairs that lack judgements, excluded judgements."""
    figures: Sequence[Line]
    distribution: BarPlot
    regions: Sequence[RegionLine]
    region_plot: RangePlot | None
    levels: Sequence[RegionLine]
    """By how near to the language the images were taken; empty without a selection."""
    raters: Sequence[RaterLine]
    rater_plot: RangePlot | None


def report_page(
    report: Report,
    evidence: Evidence,
    raters: Sequence[RaterRow],
    *,
    scale: Scale,
    levels: Sequence[RegionOutcome] = (),
) -> ReportPage:
    # Images whose region is unknown come last.
    regions = sorted(report.regions, key=lambda part: (not part.region, part.region))
    estimates = [_region_estimate(part) for part in regions]
    rated = [row for row in report.raters if isinstance(row.left, Share)]
    return ReportPage(
        report=report,
        headline=list(_headline(report.outcome)),
        beside=[*beside(report, evidence), *_scripted(raters)],
        figures=list(_figures(report)),
        distribution=distribution_plot(report, scale=scale),
        regions=[_region_line(part) for part in regions],
        region_plot=range_plot(_("Gain by region"), estimates, reference=0) if has_values(estimates) else None,
        levels=[replace(_region_line(part), region=str(Level(part.region).label)) for part in levels],
        raters=[_rater_line(row) for row in raters],
        rater_plot=range_plot(
            _("Left side preferred, by rater, in percent"),
            [_left_estimate(row) for row in rated],
            reference=EVEN,
            ends=WHOLE,
            step=EVEN / 2,
            has_short_labels=True,
        )
        if rated
        else None,
    )


def _headline(outcome: Outcome) -> Iterator[Line]:
    gain, test = outcome.gain, outcome.sign_test
    yield Line(
        _("WINS"),
        _part_of(outcome.wins, outcome.images.denominator),
        "",
        texts.why(outcome.wins.percent),
        _("Images where most raters prefer the test model's caption, by any degree."),
    )
    yield Line(
        _("LOSSES"),
        _part_of(outcome.losses, outcome.images.denominator),
        "",
        texts.why(outcome.losses.percent),
        _("Images where most raters prefer the base model's caption, by any degree."),
    )
    yield Line(
        _("ΔSxS"),
        "" if isinstance(gain, Undefined) else texts.signed(gain.points),
        gain_interval(gain),
        texts.why(gain) or texts.why(getattr(gain, "interval", None)),
        _(
            "WINS − LOSSES in percentage points, with its 95 percent confidence interval from bootstrap resamples of "
            "the images."
        ),
    )
    yield Line(
        _("Sign test"),
        "" if isinstance(test, Undefined) else texts.p_value(test.p),
        "",
        texts.why(test),
        _("The p-value: how likely wins and losses at least this uneven would be if both models were equally good."),
    )


def gain_interval(gain: Gain | Undefined) -> str:
    return "" if isinstance(gain, Undefined) else texts.between(gain.interval, with_sign=True)


def beside(report: Report, evidence: Evidence) -> Iterator[str]:
    """Describe in sentences what the headline leaves out, and always the pairs with equal captions."""
    images, apart = report.outcome.images, evidence.set_aside
    yield ngettext(
        "The figures are based on %(number)s image that has all its judgements.",
        "The figures are based on %(number)s images that have all their judgements.",
        images.complete,
    ) % {"number": images.complete}
    if images.incomplete:
        yield ngettext(
            "%(number)s image lacks judgements and is not part of any percentage (%(none)s without any).",
            "%(number)s images lack judgements and are not part of any percentage (%(none)s without any).",
            images.incomplete,
        ) % {"number": images.incomplete, "none": images.incomplete_by_judgements.get(0, 0)}
    if images.counted_similar:
        yield ngettext(
            "%(number)s pair with equal captions counts as SIMILAR without being shown.",
            "%(number)s pairs with equal captions count as SIMILAR without being shown.",
            images.counted_similar,
        ) % {"number": images.counted_similar}
        if images.incomplete and images.complete:
            yield _(
                "Until every pair is judged, the gain is biased towards zero, because all pairs with equal "
                "captions already count."
            )
    if images.beyond_replication:
        yield ngettext(
            "%(number)s image has more judgements than required. All of them count.",
            "%(number)s images have more judgements than required. All of them count.",
            images.beyond_replication,
        ) % {"number": images.beyond_replication}
    if apart.total:
        yield ngettext(
            "%(number)s judgement is set aside: %(late)s late, %(paused)s by paused raters, %(excluded)s by "
            "excluded raters.",
            "%(number)s judgements are set aside: %(late)s late, %(paused)s by paused raters, %(excluded)s by "
            "excluded raters.",
            apart.total,
        ) % {"number": apart.total, "late": apart.late, "paused": apart.paused, "excluded": apart.excluded}
    if apart.of_images:
        yield ngettext(
            "%(number)s of these judgements is of an image that is left out of results.",
            "%(number)s of these judgements are of images that are left out of results.",
            apart.of_images,
        ) % {"number": apart.of_images}


def _scripted(raters: Sequence[RaterRow]) -> Iterator[str]:
    if number := sum(row.is_scripted and row.state in ("", RaterState.RESTORED) for row in raters):
        yield ngettext(
            "The answers of %(number)s rater look scripted. They count until a manager pauses this rater.",
            "The answers of %(number)s raters look scripted. They count until a manager pauses these raters.",
            number,
        ) % {"number": number}


def _figures(report: Report) -> Iterator[Line]:
    alpha, seconds = report.alpha, report.seconds
    yield Line(
        _("Agreement"),
        "" if isinstance(alpha, Undefined) else f"α = {texts.plain(alpha.value, 3)} ({_images(alpha.images)})",
        "" if isinstance(alpha, Undefined) else texts.between(alpha.interval, 3),
        texts.why(alpha) or texts.why(getattr(alpha, "interval", None)),
        _(
            "Ordinal Krippendorff's alpha over all images that at least two raters judged, complete or not: 1 "
            "is full agreement, 0 is chance, below 0 is systematic disagreement."
        ),
    )
    yield _share_line(
        _("Left preferred"),
        report.left,
        _("Share of judgements preferring a side that prefer the left. 50% means no bias."),
    )
    yield _share_line(
        _("Repeats: same answer"),
        report.flips.same,
        _(
            "Share of pairs, shown again with the sides swapped, where the rater preferred the same caption as "
            "before, or again neither."
        ),
    )
    yield _share_line(
        _("Repeats: opposite answer"),
        report.flips.opposite,
        _("Share of these repeats where the rater preferred the other caption."),
    )
    yield Line(
        _("Seconds per judgement"),
        ""
        if isinstance(seconds, Undefined)
        else f"{texts.plain(seconds.median)} ({_of(seconds.judgements, report.judgements)})",
        "" if isinstance(seconds, Undefined) else texts.between(seconds.quartiles),
        texts.why(seconds),
        _("Median active time and interquartile range, over the judgements whose time is known."),
    )
    precision = report.precision
    yield Line(
        _("Images needed"),
        "" if isinstance(precision, Undefined) else _("%(images)s, %(more)s more than now") % vars(precision),
        "",
        texts.why(precision),
        _(
            "How many images are needed for a 95%% confidence interval of ± %(points)s points, if the share of "
            "each outcome stays the same."
        )
        % {"points": texts.plain(WIDTH_POINTS / 2, 0)},
    )


def _share_line(label: str, share: Share | Undefined, meaning: str) -> Line:
    if isinstance(share, Undefined):
        return Line(label, "", "", texts.why(share), meaning)
    value = f"{texts.percent(share.percent)} ({_of(share.count, share.total)})"
    return Line(label, value, texts.between(share.interval), "", meaning)


def distribution_plot(report: Report, *, scale: Scale) -> BarPlot:
    return bar_plot(
        _("Judgements by level, test against base") if scale.points > FIVE_POINTS.points else _("Judgements by level"),
        [(level.name, report.distribution[level.number], _kind(level.number)) for level in scale.levels],
    )


def _kind(score: int) -> str:
    return "better" if score > 0 else "worse" if score < 0 else "similar"


def _part(part: Part) -> str:
    return "" if isinstance(part.percent, Undefined) else f"{texts.percent(part.percent)} ({part.count})"


def _part_of(part: Part, images: int) -> str:
    if isinstance(part.percent, Undefined):
        return ""
    return f"{texts.percent(part.percent)} ({_of(part.count, images)})"


def _images(number: int) -> str:
    return ngettext("%(number)s image", "%(number)s images", number) % {"number": number}


def _of(count: int, total: int) -> str:
    return _("%(count)s of %(total)s") % {"count": count, "total": total}


def region_name(region: str) -> str:
    return region or _("unknown")


def _region_line(part: RegionOutcome) -> RegionLine:
    outcome = part.outcome
    gain = outcome.gain
    return RegionLine(
        region=region_name(part.region),
        images=outcome.images.denominator,
        incomplete=outcome.images.incomplete,
        wins=_part(outcome.wins),
        losses=_part(outcome.losses),
        gain="" if isinstance(gain, Undefined) else texts.signed(gain.points),
        interval=gain_interval(gain),
        why=texts.why(gain) or texts.why(getattr(gain, "interval", None)),
    )


def _region_estimate(part: RegionOutcome) -> Estimate:
    line, gain = _region_line(part), part.outcome.gain
    return Estimate(
        label=line.region,
        text=with_interval(line.gain, line.interval) or _("undefined"),
        value=None if isinstance(gain, Undefined) else gain.points,
        interval=gain.interval if isinstance(gain, Gain) and isinstance(gain.interval, Interval) else None,
    )


def has_values(estimates: Sequence[Estimate]) -> bool:
    return any(estimate.value is not None for estimate in estimates)


def with_interval(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _left_estimate(row: RaterFigures) -> Estimate:
    assert isinstance(row.left, Share)
    return Estimate(row.rater, texts.percent(row.left.percent, 0), row.left.percent, row.left.interval)


def _rater_line(row: RaterRow) -> RaterLine:
    figures, checks = row.figures, row.checks
    left = figures.left if figures else None
    seconds = figures.seconds_median if figures else None
    made = checks.golds + checks.repeats
    failed = checks.golds_failed + checks.repeats_failed
    return RaterLine(
        name=row.name,
        state=str(RaterState(row.state).label) if row.state else "",
        is_out=row.state in (RaterState.PAUSED, *LEFT_OUT),
        is_scripted=row.is_scripted,
        judgements=figures.judgements if figures else 0,
        set_aside=row.set_aside,
        left=f"{texts.percent(left.percent)} ({_of(left.count, left.total)})" if isinstance(left, Share) else "",
        left_interval=texts.between(left.interval) if isinstance(left, Share) else "",
        seconds=texts.plain(seconds) if isinstance(seconds, float) else "",
        same=_count(figures.flips.same if figures else None),
        opposite=_count(figures.flips.opposite if figures else None),
        checks=_("%(failed)s of %(made)s") % {"failed": failed, "made": made} if made else "",
    )


def _count(share: Share | Undefined | None) -> str:
    return _of(share.count, share.total) if isinstance(share, Share) else ""
