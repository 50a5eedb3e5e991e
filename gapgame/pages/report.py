"""The report as its page shows it: figures with their intervals and meanings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.stacks import BarShares, StackedPlot, stacked_plot
from gapgame.models import TurnOutcome
from gapgame.rules.equal_samples import EqualGuesses, EqualSamples, ResampledFigure
from gapgame.rules.figures import TurnMean, TurnShare, UndefinedFigure
from gapgame.rules.report import EqualOutcomes, EqualSize, GameReport, GroupOutcomes, TurnOutcomes
from gapgame.rules.turns import OUTCOMES

GROUPS_PER_PAGE = 50
SIMILARITY_DIGITS = 3


@dataclass(frozen=True)
class ReportCell:
    """A figure: `beside` is its interval, and `players` the one over players, if there are any."""

    value: str
    beside: str = ""
    players: str = ""
    count: int | None = None
    why: str = ""


@dataclass(frozen=True)
class ReportRow:
    name: str
    turns: int
    players: int | None
    cells: Sequence[ReportCell]
    inexact: Sequence[ReportCell] = ()


@dataclass(frozen=True)
class FilterRow:
    """A rule for invalid turns; `is_applied` says whether it leaves them out."""

    name: str
    says: str
    matched: int
    left_out: int
    is_applied: bool


@dataclass(frozen=True)
class ReportPage:
    report: GameReport
    labels: Sequence[str]
    headline: str
    filters: Sequence[FilterRow]
    stated: str
    plot: StackedPlot | None
    outcomes: Sequence[ReportRow]
    similarity: Sequence[ReportRow]
    equal: Sequence[ReportRow]
    equal_similarity: Sequence[ReportRow]
    equal_size: int
    why_not_equal: str
    samples: Sequence[ReportRow]
    sample_size: int
    why_no_samples: str
    groups: Page[GroupOutcomes] | None
    group_rows: Sequence[ReportRow]


def report_page(report: GameReport, *, by: str, number: str) -> ReportPage:
    parts = [(_("All splits"), report.overall), *((part.split, part.figures) for part in report.splits)]
    equal, samples = report.equal_size, report.equal_samples
    groups = Paginator(report.by.get(by, ()), GROUPS_PER_PAGE).get_page(number) if by in report.by else None
    return ReportPage(
        report=report,
        labels=[str(TurnOutcome(name).label) for name in OUTCOMES],
        headline=_headline(report),
        filters=[
            FilterRow(str(rule.rule), str(rule.says), rule.matched, rule.left_out, not rule.is_kept)
            for rule in report.filters
        ],
        stated=_stated(report),
        plot=_plot(parts) if report.counted else None,
        outcomes=[_outcome_row(name, figures) for name, figures in parts],
        similarity=[_similarity_row(name, figures) for name, figures in parts],
        equal=_equal(equal, _equal_outcomes),
        equal_similarity=_equal(equal, _equal_similarities),
        equal_size=equal.size if isinstance(equal, EqualSize) else 0,
        why_not_equal=equal.message if isinstance(equal, UndefinedFigure) else "",
        samples=_equal(samples, _equal_similarities),
        sample_size=samples.size if isinstance(samples, EqualSamples) else 0,
        why_no_samples=samples.message if isinstance(samples, UndefinedFigure) else "",
        groups=groups,
        group_rows=[_group_row(group) for group in groups] if groups else [],
    )


def _headline(report: GameReport) -> str:
    turns = ngettext("%(number)d turn counts", "%(number)d turns count", report.counted)
    text = _("%(counted)s, out of %(turns)d finished turns.")
    return text % {"counted": turns % {"number": report.counted}, "turns": report.turns}


def _stated(report: GameReport) -> str:
    """Say in one sentence, beside the figures, what they leave out."""
    left_out = [rule for rule in report.filters if rule.left_out]
    if not left_out:
        return _("No turns are left out.")
    reasons = "; ".join(f"{rule.says} ({rule.left_out})" for rule in left_out)
    return _("Left out: %(reasons)s.") % {"reasons": reasons}


def _plot(parts: Sequence[tuple[str, TurnOutcomes]]) -> StackedPlot:
    kinds = [(name.replace("_", "-"), str(TurnOutcome(name).label)) for name in OUTCOMES]
    rows = [
        BarShares(
            name,
            ngettext("%(number)d turn", "%(number)d turns", figures.turns) % {"number": figures.turns},
            [share.percent if isinstance(share, TurnShare) else 0.0 for share in _shares(figures)],
        )
        for name, figures in parts
        if figures.turns
    ]
    return stacked_plot(_("Outcomes of turns, in percent, by split"), kinds, rows)


def _shares(figures: TurnOutcomes) -> list[TurnShare | UndefinedFigure]:
    return [figures.outcomes[name] for name in OUTCOMES]


def _outcome_row(name: str, figures: TurnOutcomes) -> ReportRow:
    return ReportRow(name, figures.turns, figures.players, [_share_cell(share) for share in _shares(figures)])


def _share_cell(share: TurnShare | UndefinedFigure) -> ReportCell:
    if isinstance(share, UndefinedFigure):
        return ReportCell("", why=share.message)
    return ReportCell(
        texts.percentage(share.percent),
        beside=texts.interval_text(share.interval),
        players=texts.interval_text(share.over_players),
        count=share.count,
        why=texts.reason_undefined(share.over_players),
    )


def _similarity_row(name: str, figures: TurnOutcomes) -> ReportRow:
    return ReportRow(
        name,
        figures.turns,
        figures.players,
        [_mean_cell(attempt.all) for attempt in figures.similarity],
        [_mean_cell(attempt.inexact) for attempt in figures.similarity],
    )


def _mean_cell(mean: TurnMean | UndefinedFigure) -> ReportCell:
    if isinstance(mean, UndefinedFigure):
        return ReportCell("", why=mean.message)
    return ReportCell(
        texts.plain_number(mean.mean, SIMILARITY_DIGITS),
        beside=texts.interval_text(mean.interval, SIMILARITY_DIGITS),
        players=texts.interval_text(mean.over_players, SIMILARITY_DIGITS),
        count=mean.count,
        why=texts.reason_undefined(mean.interval),
    )


def _equal(
    equal: EqualSize | EqualSamples | UndefinedFigure, cells_of: Callable[[Any], list[ReportCell]]
) -> list[ReportRow]:
    if isinstance(equal, UndefinedFigure):
        return []
    named = [(_("All splits"), equal.overall), *((part.split, part) for part in equal.splits)]
    return [ReportRow(name, equal.size, None, cells_of(part)) for name, part in named]


def _equal_outcomes(part: EqualOutcomes) -> list[ReportCell]:
    drawn: Mapping[str, ResampledFigure] = part.outcomes
    return [
        ReportCell(texts.percentage(drawn[name].mean), beside=texts.interval_text(drawn[name].interval))
        for name in OUTCOMES
    ]


def _equal_similarities(part: EqualOutcomes | EqualGuesses) -> list[ReportCell]:
    return [
        ReportCell("", why=each.message)
        if isinstance(each, UndefinedFigure)
        else ReportCell(
            texts.plain_number(each.mean, SIMILARITY_DIGITS),
            beside=texts.interval_text(each.interval, SIMILARITY_DIGITS),
        )
        for each in part.similarity
    ]


def _group_row(group: GroupOutcomes) -> ReportRow:
    cells = [
        ReportCell(
            texts.percentage(group.percent[name]),
            beside=texts.interval_text(group.intervals[name]),
            count=group.counts[name],
        )
        for name in OUTCOMES
    ]
    means = [
        ReportCell("" if mean is None else texts.plain_number(mean, SIMILARITY_DIGITS), count=guesses)
        for mean, guesses in zip(group.similarity, group.guesses, strict=True)
    ]
    return ReportRow(group.name, group.turns, None, cells, means)
