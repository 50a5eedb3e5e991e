"""The report as its page shows it: figures with their intervals and meanings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.stacks import Shares, StackedPlot, stacked_plot
from gapgame.models import Outcome
from gapgame.rules.equal_samples import EqualGuesses, EqualSamples, Resampled
from gapgame.rules.figures import Mean, Share, Undefined
from gapgame.rules.report import EqualOutcomes, EqualSize, GameReport, GroupOutcomes, Outcomes
from gapgame.rules.turns import OUTCOMES

GROUPS_PER_PAGE = 50
SIMILARITY_DIGITS = 3


@dataclass(frozen=True)
class Cell:
    """A figure: `beside` is its interval, and `players` the one over players, if there are any."""

    value: str
    beside: str = ""
    players: str = ""
    count: int | None = None
    why: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    turns: int
    players: int | None
    cells: Sequence[Cell]
    inexact: Sequence[Cell] = ()


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
    outcomes: Sequence[Row]
    similarity: Sequence[Row]
    equal: Sequence[Row]
    equal_similarity: Sequence[Row]
    equal_size: int
    why_not_equal: str
    samples: Sequence[Row]
    sample_size: int
    why_no_samples: str
    groups: Page[GroupOutcomes] | None
    group_rows: Sequence[Row]


def report_page(report: GameReport, *, by: str, number: str) -> ReportPage:
    parts = [(_("All splits"), report.overall), *((part.split, part.figures) for part in report.splits)]
    equal, samples = report.equal_size, report.equal_samples
    groups = Paginator(report.by.get(by, ()), GROUPS_PER_PAGE).get_page(number) if by in report.by else None
    return ReportPage(
        report=report,
        labels=[str(Outcome(name).label) for name in OUTCOMES],
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
        why_not_equal=equal.message if isinstance(equal, Undefined) else "",
        samples=_equal(samples, _equal_similarities),
        sample_size=samples.size if isinstance(samples, EqualSamples) else 0,
        why_no_samples=samples.message if isinstance(samples, Undefined) else "",
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


def _plot(parts: Sequence[tuple[str, Outcomes]]) -> StackedPlot:
    kinds = [(name.replace("_", "-"), str(Outcome(name).label)) for name in OUTCOMES]
    rows = [
        Shares(
            name,
            ngettext("%(number)d turn", "%(number)d turns", figures.turns) % {"number": figures.turns},
            [share.percent if isinstance(share, Share) else 0.0 for share in _shares(figures)],
        )
        for name, figures in parts
        if figures.turns
    ]
    return stacked_plot(_("Outcomes of turns, in percent, by split"), kinds, rows)


def _shares(figures: Outcomes) -> list[Share | Undefined]:
    return [figures.outcomes[name] for name in OUTCOMES]


def _outcome_row(name: str, figures: Outcomes) -> Row:
    return Row(name, figures.turns, figures.players, [_share_cell(share) for share in _shares(figures)])


def _share_cell(share: Share | Undefined) -> Cell:
    if isinstance(share, Undefined):
        return Cell("", why=share.message)
    return Cell(
        texts.percent(share.percent),
        beside=texts.between(share.interval),
        players=texts.between(share.over_players),
        count=share.count,
        why=texts.why(share.over_players),
    )


def _similarity_row(name: str, figures: Outcomes) -> Row:
    return Row(
        name,
        figures.turns,
        figures.players,
        [_mean_cell(attempt.all) for attempt in figures.similarity],
        [_mean_cell(attempt.inexact) for attempt in figures.similarity],
    )


def _mean_cell(mean: Mean | Undefined) -> Cell:
    if isinstance(mean, Undefined):
        return Cell("", why=mean.message)
    return Cell(
        texts.plain(mean.mean, SIMILARITY_DIGITS),
        beside=texts.between(mean.interval, SIMILARITY_DIGITS),
        players=texts.between(mean.over_players, SIMILARITY_DIGITS),
        count=mean.count,
        why=texts.why(mean.interval),
    )


def _equal(equal: EqualSize | EqualSamples | Undefined, cells_of: Callable[[Any], list[Cell]]) -> list[Row]:
    if isinstance(equal, Undefined):
        return []
    named = [(_("All splits"), equal.overall), *((part.split, part) for part in equal.splits)]
    return [Row(name, equal.size, None, cells_of(part)) for name, part in named]


def _equal_outcomes(part: EqualOutcomes) -> list[Cell]:
    drawn: Mapping[str, Resampled] = part.outcomes
    return [Cell(texts.percent(drawn[name].mean), beside=texts.between(drawn[name].interval)) for name in OUTCOMES]


def _equal_similarities(part: EqualOutcomes | EqualGuesses) -> list[Cell]:
    return [
        Cell("", why=each.message)
        if isinstance(each, Undefined)
        else Cell(texts.plain(each.mean, SIMILARITY_DIGITS), beside=texts.between(each.interval, SIMILARITY_DIGITS))
        for each in part.similarity
    ]


def _group_row(group: GroupOutcomes) -> Row:
    cells = [
        Cell(
            texts.percent(group.percent[name]),
            beside=texts.between(group.intervals[name]),
            count=group.counts[name],
        )
        for name in OUTCOMES
    ]
    means = [
        Cell("" if mean is None else texts.plain(mean, SIMILARITY_DIGITS), count=guesses)
        for mean, guesses in zip(group.similarity, group.guesses, strict=True)
    ]
    return Row(group.name, group.turns, None, cells, means)
