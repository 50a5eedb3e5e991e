"""Plots of a project, each with a table of the same numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from typing import Any, NamedTuple

from django.http import QueryDict
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotation.models import Rating, Round, RoundKind
from annotation.pages.progress import seen_of
from annotation.rules.tallies import LENGTH_STEP, TallySums, total_sums
from annotation.selectors.annotators import RoundOfOne
from annotation.selectors.statistics import RoundSeries
from charts import texts
from charts.columns import BarShares, ColumnPlot, StackedPlot, column_plot, stacked_plot
from charts.texts import joined_html
from core.languages.models import Language
from core.languages.rules.cldr import DAY_OF_CHART, date_text
from crosslens_metrics.caption_stats import mean_to_one_decimal
from crosslens_metrics.reports.figures import percent_text

MIN_DAYS, MAX_DAYS = 14, 60
SMALL, LARGE = 90, 180
"""Pixels."""
SHOWN_LENGTHS = 0.99
"""The share of captions before the last column, which holds the longest hundredth."""
MAX_CHARACTERS_BESIDE = 20
"""How many characters of a name fit beside a bar on a phone."""
ANY = "any"


NAME = '<th scope="row" data-in-file="{1}">{0}</th>'
VALUE = '<td class="number" data-in-file="{1}">{0}</td>'


class PlotCell(NamedTuple):
    """`text` as the page shows it, and as a file has it: without unit, in no language."""

    text: str
    in_file: str


@dataclass(frozen=True)
class PlotTable:
    heads: Sequence[PlotCell]
    rows: Sequence[Sequence[PlotCell]]

    @property
    def body(self) -> SafeString:
        rows = ((joined_html(NAME, [name]), joined_html(VALUE, values)) for name, *values in self.rows)
        return format_html_join("", "<tr>{}{}</tr>", rows)


@dataclass(frozen=True)
class PlotFigure:
    """A plot of either kind, with a table of the same numbers unless another figure has it."""

    id: str
    title: str
    note: str
    columns: ColumnPlot | None
    stacked: StackedPlot | None
    table: PlotTable | None

    @property
    def is_small(self) -> bool:
        """Return whether it is one of many that share a table."""
        return self.table is None


def plots_page(
    series: Sequence[RoundSeries],
    *,
    languages: Sequence[Language],
    language: Language | None,
    query: QueryDict,
    today: date,
) -> dict[str, Any]:
    """Prepare the page: `seen` identifies everything that it shows; `query` asks for the same again."""
    kind = query.get("kind") or (ANY if language else RoundKind.MAIN.value)
    asked = [one for one in series if kind in (ANY, one.round.kind)]
    written = [one for one in asked if not one.is_rating]
    lengths, lengths_table = _lengths(written)
    kept = query.copy()
    kept.pop("seen", None)
    return {
        "days": _days(written, today),
        "ratings": _levels("ratings", _("Ratings of English captions, by round"), written),
        "verdicts": _levels(
            "verdicts", _("Ratings of written captions, by round"), [one for one in asked if one.is_rating]
        ),
        "lengths": lengths,
        "lengths_table": lengths_table,
        "languages": [(one.pk, one.name) for one in languages],
        "kinds": [(ANY, _("All rounds")), *RoundKind.choices],
        "kind": kind,
        "query": kept.urlencode(),
        "seen": seen_of((today, [(one.round.pk, one.sums) for one in asked])),
    }


def plots_of_one(rows: Sequence[RoundOfOne], *, today: date) -> list[PlotFigure]:
    """Plot one annotator: captions by day, and their ratings beside everybody's."""
    written = [row for row in rows if not row.is_rating]
    days = total_sums(row.sums for row in written).days
    compared = [
        pair
        for row in rows
        if row.sums.captions
        for pair in (
            _shares(
                _("%(round)s, %(language)s") % {"round": row.round.title, "language": row.round.language.name}, row.sums
            ),
            _shares(_("everybody"), row.by_all),
        )
    ]
    figures = [_columns_by_day(days, today)] if days else []
    if compared:
        figures.append(_stacked("levels", _("Levels given by this person and by everybody"), compared))
    return figures


def _days(series: Sequence[RoundSeries], today: date) -> PlotFigure | None:
    days = total_sums(one.sums for one in series).days
    return _columns_by_day(days, today) if days else None


def _columns_by_day(days: Mapping[str, int], today: date) -> PlotFigure:
    last = max(today, date.fromisoformat(max(days)))
    first = max(date.fromisoformat(min(days)), last - timedelta(days=MAX_DAYS - 1))
    first = min(first, last - timedelta(days=MIN_DAYS - 1))
    shown_days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    columns = [(_day(day), days.get(day.isoformat(), 0)) for day in shown_days]
    most = max(columns, key=lambda column: column[1])
    number = sum(count for _, count in columns)
    summary = ngettext(
        "%(number)d caption from %(first)s to %(last)s; most on %(day)s: %(most)d.",
        "%(number)d captions from %(first)s to %(last)s; most on %(day)s: %(most)d.",
        number,
    ) % {"number": number, "first": columns[0][0], "last": columns[-1][0], "day": most[0], "most": most[1]}
    title = _("Captions per day")
    return PlotFigure(
        id="days",
        title=title,
        note="",
        columns=column_plot(title, columns, summary=summary, height=LARGE),
        stacked=None,
        table=PlotTable(
            [_plain(_("Day")), _plain(_("Captions"))],
            [
                (PlotCell(_day(day), day.isoformat()), _plain(days[day.isoformat()]))
                for day in reversed(shown_days)
                if days.get(day.isoformat())
            ],
        ),
    )


def _day(day: date) -> str:
    return date_text(day, get_language() or "", DAY_OF_CHART)


def _levels(id: str, title: str, series: Sequence[RoundSeries]) -> PlotFigure | None:
    rated = [one for one in series if one.sums.ratings]
    # Where each language has one round, the language's name is enough.
    is_plain = len({one.round.language_id for one in rated}) == len(rated) > 1
    rows = [_shares(one.round.language.name if is_plain else _named(one.round), one.sums) for one in rated]
    return _stacked(id, title, rows) if rows else None


def _stacked(id: str, title: str, rows: Sequence[BarShares]) -> PlotFigure:
    kinds = [(level.value.lower(), str(level.label)) for level in Rating]
    table = PlotTable(
        [_plain(_("Round")), *(_in_percent(label) for _, label in kinds), _plain(_("Ratings"))],
        [
            (
                _plain(row.name),
                *(PlotCell(texts.percentage(share, 1), percent_text(share)) for share in row.percent),
                _plain(row.note),
            )
            for row in rows
        ],
    )
    is_short = all(len(row.name) <= MAX_CHARACTERS_BESIDE for row in rows)
    return PlotFigure(id, title, "", None, stacked_plot(title, kinds, rows, has_names_beside=is_short), table)


def _named(round: Round) -> str:
    return f"{round.language.name} · {round.title}"


def _shares(name: str, sums: TallySums) -> BarShares:
    given = sum(sums.ratings.values()) or 1
    return BarShares(name, str(given), [100 * sums.ratings.get(level.value, 0) / given for level in Rating])


def _lengths(series: Sequence[RoundSeries]) -> tuple[list[PlotFigure], PlotTable | None]:
    """Return a small plot for each language, all with the same axes, and one table of all numbers."""
    by_language: dict[Language, list[TallySums]] = defaultdict(list)
    for one in series:
        by_language[one.round.language].append(one.sums)
    sums = {language: total_sums(values) for language, values in by_language.items()}
    if not sums:
        return [], None
    bins = _bins(total_sums(sums.values()).lengths)
    names = [f"{start}–{start + LENGTH_STEP - 1}" for start in bins[:-1]] + [f"{bins[-1]}+"]
    shares = {language: _binned(values, bins) for language, values in sums.items()}
    highest = max(max(values) for values in shares.values())
    figures = [
        PlotFigure(
            id=f"lengths-{language.pk}",
            title=language.name,
            note=_about(sums[language]),
            columns=column_plot(
                language.name,
                list(zip(names, values, strict=True)),
                summary=_about(sums[language]),
                height=SMALL,
                highest=highest,
                as_percent=True,
            ),
            stacked=None,
            table=None,
        )
        for language, values in shares.items()
    ]
    rows = [
        (
            _plain(language.name),
            _plain(sums[language].captions),
            *(PlotCell(texts.plain_number(share, 1), f"{share:.1f}") for share in values),
        )
        for language, values in shares.items()
    ]
    heads = [_plain(_("Language")), _plain(_("Captions")), *map(_in_percent, names)]
    return figures, PlotTable(heads, rows)


def _plain(value: object) -> PlotCell:
    return PlotCell(str(value), str(value))


def _in_percent(head: str) -> PlotCell:
    return PlotCell(head, f"{head} (%)")


def _bins(lengths: Mapping[str, int]) -> list[int]:
    """Return where columns begin: as many as hold all but the longest, which are in the last."""
    starts = sorted((int(start), count) for start, count in lengths.items())
    enough, seen, last = ceil(SHOWN_LENGTHS * sum(lengths.values())), 0, 0
    for start, count in starts:
        last = start
        seen += count
        if seen >= enough:
            break
    return list(range(0, last + LENGTH_STEP, LENGTH_STEP))


def _binned(sums: TallySums, bins: Sequence[int]) -> list[float]:
    """Return the percentage of the captions in each column."""
    counts = dict.fromkeys(bins, 0)
    for start, count in sums.lengths.items():
        counts[min(int(start), bins[-1])] += count
    return [100 * count / max(1, sums.captions) for count in counts.values()]


def _about(sums: TallySums) -> str:
    mean = mean_to_one_decimal(sums.characters, sums.captions)
    text = ngettext(
        "%(number)d caption of %(mean)s characters",
        "%(number)d captions of %(mean)s characters on average",
        sums.captions,
    )
    return text % {"number": sums.captions, "mean": "" if mean is None else texts.plain_number(mean, 1)}
