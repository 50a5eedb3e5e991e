"""The report as its page shows it: figures with their intervals and meanings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from django.core.paginator import Paginator
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.columns import BarShares, StackedPlot, stacked_plot
from gapgame.models import TurnOutcome
from gapgame.rules.figures import EqualSamples, ResampledFigure, TurnMean, TurnShare, UndefinedFigure
from gapgame.rules.report import EqualSize, GameReport, GroupOutcomes, TurnOutcomes
from gapgame.rules.turns import OUTCOMES
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, isolated

GROUPS_PER_PAGE = 50
SIMILARITY_DIGITS = 3

NamedPart = tuple[str, Any]
"""Figures of all splits or of one, with its name."""


def report_page(report: GameReport, *, by: str, by_label: str, number: str) -> dict[str, Any]:
    parts = [(_("All splits"), report.overall), *((part.split, part.figures) for part in report.splits)]
    equal, samples = report.equal_size, report.equal_samples
    groups = Paginator(report.by.get(by, ()), GROUPS_PER_PAGE).get_page(number)
    drawn = partial(PageTable, columns=_drawn_columns())
    return {
        "report": report,
        "headline": _headline(report),
        "stated": _stated(report),
        "plot": _plot(parts) if report.counted else None,
        "outcomes": PageTable("outcome-table", _("Percentage of turns, by split"), _outcome_columns(), parts),
        "similarity": PageTable(
            "similarity-table", _("Mean similarity of all guesses"), _similarity_columns("all"), parts
        ),
        "inexact": PageTable(
            "inexact-table", _("Mean similarity of wrong guesses"), _similarity_columns("inexact"), parts
        ),
        "equal": PageTable(
            "equal-table", _("Percentage of turns, splits of equal size"), _equal_columns(equal), _equal_parts(equal)
        ),
        "equal_similarity": drawn(
            "equal-similarity", _("Mean similarity, splits of equal size"), rows=_equal_parts(equal)
        ),
        "samples": drawn("samples-table", _("Mean similarity, equal samples"), rows=_equal_parts(samples)),
        "groups": groups,
        "group_table": PageTable("groups", "", _group_columns(by_label), list(groups)),
    }


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
            [share.percent if isinstance(share, TurnShare) else 0.0 for share in map(figures.outcomes.get, OUTCOMES)],
        )
        for name, figures in parts
        if figures.turns
    ]
    return stacked_plot(_("Outcomes of turns, in percent, by split"), kinds, rows)


def _equal_parts(equal: EqualSize | EqualSamples | UndefinedFigure) -> list[NamedPart]:
    if isinstance(equal, UndefinedFigure):
        return []
    return [(_("All splits"), equal.overall), *((part.split, part) for part in equal.splits)]


def _split_column() -> TableColumn[NamedPart]:
    return TableColumn("split", _("Split"), itemgetter(0), kind=TEXT)


def _of_outcomes(cell: Callable[[str, Any], str]) -> list[TableColumn[Any]]:
    """Return a column for each outcome, whose cells are made from its name and a row."""
    return [TableColumn(name, str(TurnOutcome(name).label), partial(cell, name)) for name in OUTCOMES]


def _of_attempts(names: Sequence[str], cell: Callable[[int, Any], str | None]) -> list[TableColumn[Any]]:
    """Return a column for each attempt, whose cells are made from its place, from 0, and a row."""
    return [TableColumn(f"attempt_{place + 1}", name, partial(cell, place)) for place, name in enumerate(names)]


def _outcome_columns() -> list[TableColumn[NamedPart]]:
    return [
        _split_column(),
        TableColumn("turns", _("Turns"), lambda part: part[1].turns),
        TableColumn("players", _("Players"), lambda part: part[1].players),
        *_of_outcomes(lambda name, part: _share(part[1].outcomes[name])),
    ]


def _equal_columns(equal: EqualSize | UndefinedFigure) -> list[TableColumn[NamedPart]]:
    return [
        _split_column(),
        TableColumn("turns", _("Turns"), lambda part: getattr(equal, "size", None)),
        *_of_outcomes(lambda name, part: _drawn(part[1].outcomes[name], texts.percentage, 1)),
    ]


def _similarity_columns(of_guesses: str) -> list[TableColumn[NamedPart]]:
    """Return the columns of `all` guesses, or of the `inexact` ones: the mean at each attempt, and of how many."""
    columns = [_split_column()]
    for place, mean in enumerate(_of_attempts(_attempt_names(), partial(_mean_of, of_guesses))):
        columns += [mean, TableColumn("guesses", _("Guesses"), partial(_number_of, of_guesses, place))]
    return columns


def _mean_of(of_guesses: str, place: int, part: NamedPart) -> str:
    return _mean(getattr(part[1].similarity[place], of_guesses))


def _number_of(of_guesses: str, place: int, part: NamedPart) -> int:
    return getattr(getattr(part[1].similarity[place], of_guesses), "count", 0)


def _drawn_columns() -> list[TableColumn[NamedPart]]:
    return [_split_column(), *_of_attempts(_attempt_names(), _drawn_similarity)]


def _drawn_similarity(place: int, part: NamedPart) -> str:
    return _drawn(part[1].similarity[place], texts.plain_number, SIMILARITY_DIGITS)


def _attempt_names() -> tuple[str, str, str]:
    return _("First attempt"), _("Second attempt"), _("Third attempt")


def _group_columns(by_label: str) -> list[TableColumn[GroupOutcomes]]:
    names = (_("Similarity of first attempts"), _("Second"), _("Third"))
    return [
        TableColumn("name", by_label, lambda group: isolated(group.name), kind=TEXT),
        TableColumn("turns", _("Turns"), lambda group: group.turns),
        *_of_outcomes(
            lambda name, group: figure_cell(
                texts.percentage(group.percent[name]), texts.interval_text(group.intervals[name])
            )
        ),
        *_of_attempts(names, _group_similarity),
    ]


def _group_similarity(place: int, group: GroupOutcomes) -> str | None:
    mean = group.similarity[place]
    return None if mean is None else texts.plain_number(mean, SIMILARITY_DIGITS)


def _share(share: TurnShare | UndefinedFigure) -> str:
    if isinstance(share, UndefinedFigure):
        return figure_cell("", why=share.message)
    return figure_cell(
        texts.percentage(share.percent), texts.interval_text(share.interval), texts.interval_text(share.over_players)
    )


def _mean(mean: TurnMean | UndefinedFigure) -> str:
    if isinstance(mean, UndefinedFigure):
        return figure_cell("", why=mean.message)
    intervals = (texts.interval_text(each, SIMILARITY_DIGITS) for each in (mean.interval, mean.over_players))
    return figure_cell(texts.plain_number(mean.mean, SIMILARITY_DIGITS), *intervals)


def _drawn(figure: ResampledFigure | UndefinedFigure, form: Callable[[float, int], str], digits: int) -> str:
    if isinstance(figure, UndefinedFigure):
        return figure_cell("", why=figure.message)
    return figure_cell(form(figure.mean, digits), texts.interval_text(figure.interval, digits))


def figure_cell(value: str, interval: str = "", over_players: str = "", *, why: str = "") -> str:
    """A figure with its intervals below it, or a dash that says why there is none."""
    if not value:
        return format_html('<span class="muted" title="{}">{}</span>', why, NO_VALUE)
    below = [interval, over_players and _("players: %(interval)s") % {"interval": over_players}]
    lines = format_html_join("", '<br><bdi class="muted small together">{}</bdi>', ((line,) for line in below if line))
    return format_html("<bdi>{}</bdi>{}", value, lines)
