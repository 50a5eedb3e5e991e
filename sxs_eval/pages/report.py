"""A report in words and plots: each figure with its interval and its meaning, or why it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from core.people.selectors.rates import rate_of
from crosslens_metrics.reports.comparison_figures import (
    AlphaFigure,
    ComparisonOutcome,
    GainFigure,
    ImagePart,
    RegionOutcome,
    ReportedFigures,
    TrialShare,
    UndefinedComparison,
    WithOtherRaters,
)
from crosslens_metrics.reports.gain_figures import WIDTH_POINTS
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.scales import Scale
from sxs_eval.models import LEFT_OUT, Comparison, RaterState
from sxs_eval.pages.gains import (
    design_words,
    gain_estimate,
    gain_interval,
    gain_plot,
    gain_points,
)
from sxs_eval.pages.remarks import remarks_on, scripted_answers, stopping_point
from sxs_eval.pages.report_tables import (
    bar_columns,
    count_of,
    distribution_plot,
    left_plot,
    level_columns,
    percent_of,
    rater_columns,
    region_columns,
    region_name,
)
from sxs_eval.selectors.evidence import ComparisonEvidence
from sxs_eval.selectors.results import ReportedRater
from tabular.tables import PageTable


@dataclass(frozen=True)
class ReportLine:
    """One figure. `why` says why it, or its interval, is undefined."""

    label: str
    meaning: str
    value: str
    interval: str = ""
    why: str = ""


def report_page(
    report: ReportedFigures,
    evidence: ComparisonEvidence,
    raters: Sequence[ReportedRater],
    *,
    scale: Scale,
    levels: Sequence[RegionOutcome],
    looks: int,
    comparison: Comparison,
) -> dict[str, Any]:
    """Return what the page shows; `beside` says what the headline leaves out, and `levels` is by places of images.

    `looks` is at how many numbers of complete images, before all were, results were looked at.
    """
    # Images whose region is unknown come last.
    regions = sorted(report.regions, key=lambda part: (not part.region, part.region))
    estimates = [gain_estimate(region_name(part.region), part.outcome.gain) for part in regions]
    distribution = distribution_plot(report, scale=scale)
    rated = [row for row in report.raters if isinstance(row.left, TrialShare)]
    return {
        "report": report,
        "headline": list(_headline(report.outcome, planned=evidence.pairs)),
        "beside": [*stopping_point(report, evidence, looks), *remarks_on(report, evidence), *scripted_answers(raters)],
        "figures": list(_figures(report)),
        "appendix": list(_appendix(report, evidence, raters, looks, comparison)),
        "rate": rate_of(comparison.project),
        "distribution": distribution,
        "levels_given": PageTable("levels-given", distribution["title"], bar_columns(), distribution["bars"]),
        "regions": PageTable("regions", "", region_columns(), regions),
        "region_plot": gain_plot(_("Gain by region"), estimates),
        "levels": PageTable("levels", "", level_columns(), levels),
        "raters": PageTable("raters", "", rater_columns(), raters),
        "rater_plot": left_plot(rated) if rated else None,
    }


def _headline(outcome: ComparisonOutcome, *, planned: int) -> Iterator[ReportLine]:
    gain, test = outcome.gain, outcome.sign_test
    yield _part_line(
        _("WINS"),
        outcome.wins,
        outcome.images.denominator,
        _("Images where most raters prefer the test model's caption, by any degree."),
    )
    yield _part_line(
        _("LOSSES"),
        outcome.losses,
        outcome.images.denominator,
        _("Images where most raters prefer the base model's caption, by any degree."),
    )
    is_complete = outcome.images.denominator >= planned
    yield from _gain_lines(gain, is_complete=is_complete)
    if not is_complete:
        anytime = outcome.anytime_interval
        yield ReportLine(
            _("ΔSxS at any time"),
            _(
                "The same gain, with these raters, and a 95 percent confidence interval that holds however often you "
                "look. Those above hold only once all planned images are complete."
            ),
            gain_points(gain),
            texts.interval_text(anytime, with_sign=True),
            texts.reason_undefined(anytime),
        )
    yield ReportLine(
        _("Sign test"),
        _(
            "The p-value with these raters: how likely wins and losses at least this uneven would be if both models "
            "were equally good."
        ),
        "" if isinstance(test, UndefinedComparison) else texts.p_value(test.p),
        why=texts.reason_undefined(test),
    )


def _gain_lines(gain: GainFigure | UndefinedComparison, *, is_complete: bool) -> Iterator[ReportLine]:
    """The published interval, and the one that holds with other raters too; the one to rely on is marked.

    Before all planned images are complete that is neither.
    """
    label = _("ΔSxS")
    if isinstance(gain, UndefinedComparison):
        yield ReportLine(label, _("WINS − LOSSES in percentage points."), "", why=gain.message)
        return
    primary = _("This is the interval to rely on.") if is_complete else ""
    yield ReportLine(
        label,
        _("WINS − LOSSES in percentage points. The 95%% confidence interval %(words)s.")
        % {"words": design_words(gain.interval)}
        + (f" {primary}" if gain.primary == "interval" else ""),
        gain_points(gain),
        gain_interval(gain),
        texts.reason_undefined(gain.interval),
    )
    others = gain.other_raters
    label = _("ΔSxS with other raters")
    if isinstance(others, UndefinedComparison):
        yield ReportLine(
            label, _("The same gain, with an interval for other raters like these."), "", why=others.message
        )
        return
    yield ReportLine(
        label,
        _("The same gain. The 95%% confidence interval %(words)s; %(p)s for no gain.")
        % {"words": design_words(others.interval), "p": texts.p_value(others.p)}
        + (f" {primary}" if gain.primary == "other_raters" else ""),
        gain_points(gain),
        texts.interval_text(others.interval, with_sign=True),
    )


def _part_line(label: str, part: ImagePart, images: int, meaning: str) -> ReportLine:
    if isinstance(part.percent, UndefinedComparison):
        return ReportLine(label, meaning, "", why=part.percent.message)
    return ReportLine(label, meaning, f"{texts.percentage(part.percent)} ({count_of(part.count, images)})")


def _appendix(
    report: ReportedFigures,
    evidence: ComparisonEvidence,
    raters: Sequence[ReportedRater],
    looks: int,
    comparison: Comparison,
) -> Iterator[str]:
    """Write what the appendix of a paper has to say about a comparison, in sentences that can be copied."""
    raters_counted = len(report.raters)
    yield _("%(raters)s gave %(judgements)s on a scale of %(points)s points, %(replication)s per image.") % {
        "raters": ngettext("%(number)s rater", "%(number)s raters", raters_counted) % {"number": raters_counted},
        "judgements": ngettext("%(number)s judgement", "%(number)s judgements", report.judgements)
        % {"number": report.judgements},
        "points": comparison.scale,
        "replication": comparison.replication,
    }
    yield from stopping_point(report, evidence, looks)
    yield from remarks_on(report, evidence)
    yield _(
        "Attention was checked by gold pairs (%(gold)s per 100 pairs) and repeats (%(repeats)s). Raters who failed "
        "more than %(percent)s%% of at least %(checks)s of them were paused: %(paused)s of them are paused or excluded."
    ) % {
        "gold": comparison.gold_percent,
        "repeats": comparison.repeat_percent,
        "percent": comparison.failures_percent,
        "checks": comparison.checks_before_pause,
        "paused": sum(row.state in (RaterState.PAUSED, *LEFT_OUT) for row in raters),
    }
    is_complete = report.outcome.images.denominator >= evidence.pairs
    gain_lines = _gain_lines(report.outcome.gain, is_complete=is_complete)
    for line in [*gain_lines, _agreement_line(report.alpha), _seconds_line(report)]:
        value = texts.with_interval(line.value or _("undefined"), line.interval)
        yield f"{line.label}: {value}. {line.why or line.meaning}"
    yield _("Signature: %(signature)s") % {"signature": report.signature}


def _figures(report: ReportedFigures) -> Iterator[ReportLine]:
    yield _agreement_line(report.alpha)
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
    yield _seconds_line(report)
    precision = report.precision
    yield ReportLine(
        _("Images for ± %(points)s points") % {"points": texts.plain_number(WIDTH_POINTS / 2, 0)},
        _(
            "How many images are needed for a 95%% confidence interval of ± %(points)s points, if the share of "
            "each outcome stays the same."
        )
        % {"points": texts.plain_number(WIDTH_POINTS / 2, 0)},
        "" if isinstance(precision, UndefinedComparison) else _("%(images)s, %(more)s more than now") % vars(precision),
        why=texts.reason_undefined(precision),
    )
    to_see = precision if isinstance(precision, UndefinedComparison) else precision.to_see
    yield ReportLine(
        _("Images needed"),
        _(
            "How many images are needed for an 80%% chance that the interval of the gain leaves out zero, if the gain "
            "is what was seen, with these raters."
        )
        % {},
        "" if isinstance(to_see, UndefinedComparison) else str(to_see),
        why=texts.reason_undefined(to_see),
    )
    gain = report.outcome.gain
    if isinstance(gain, GainFigure) and isinstance(gain.other_raters, WithOtherRaters):
        images = gain.other_raters.images
        yield ReportLine(
            _("Images needed with other raters"),
            _("The same for the interval with other raters like these, if no more of them take part."),
            images if isinstance(images, str) else "",
            why=texts.reason_undefined(images),
        )


def _agreement_line(alpha: AlphaFigure | UndefinedComparison) -> ReportLine:
    label, meaning = (
        _("Agreement"),
        _(
            "Ordinal Krippendorff's alpha over all images that at least two raters judged, complete or not: 1 "
            "is full agreement, 0 is chance, below 0 is systematic disagreement."
        ),
    )
    if isinstance(alpha, UndefinedComparison):
        return ReportLine(label, meaning, "", why=alpha.message)
    value = f"α = {texts.coefficient(alpha.value, 3)} ({_images(alpha.images)})"
    meaning += " " + _("%(percent)s of the pairs of judgements of an image are on the same side.") % {
        "percent": texts.percentage(alpha.same_side)
    }
    if isinstance(alpha.other_raters, Interval):
        meaning += " " + _("With other raters like these: %(interval)s.") % {
            "interval": texts.interval_text(alpha.other_raters, 3)
        }
    return ReportLine(
        label, meaning, value, texts.interval_text(alpha.interval, 3), texts.reason_undefined(alpha.interval)
    )


def _seconds_line(report: ReportedFigures) -> ReportLine:
    label, seconds = _("Seconds per judgement"), report.seconds
    meaning = _("Median active time and interquartile range, over the judgements whose time is known.")
    if isinstance(seconds, UndefinedComparison):
        return ReportLine(label, meaning, "", why=seconds.message)
    value = f"{texts.plain_number(seconds.median)} ({count_of(seconds.judgements, report.judgements)})"
    return ReportLine(label, meaning, value, texts.interval_text(seconds.quartiles))


def _share_line(label: str, share: TrialShare | UndefinedComparison, meaning: str) -> ReportLine:
    if isinstance(share, UndefinedComparison):
        return ReportLine(label, meaning, "", why=share.message)
    return ReportLine(label, meaning, percent_of(share), texts.interval_text(share.interval))


def _images(number: int) -> str:
    return ngettext("%(number)s image", "%(number)s images", number) % {"number": number}
