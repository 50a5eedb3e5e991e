"""The project's page: a row for the current round of each language, or for every round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

from django.http import QueryDict
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.models import RoundKind, RoundState
from annotation.pages import tables
from annotation.pages.tables import Column, Head
from annotation.selectors.figures import Shared
from annotation.selectors.overview import ProjectProgress, RoundProgress
from charts import texts

CURRENT, ALL = "current", "all"
NOTHING = "–"
SEEN_DIGITS = 16


@dataclass(frozen=True)
class ProgressRow:
    progress: RoundProgress
    pace: str
    ends_on: str
    minutes: str
    exact: str
    alpha: str


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class ProgressPage:
    """What the page shows: `seen` identifies all of it, so that it is not sent twice; `query` asks for the same
    rows."""

    progress: ProjectProgress
    rows: Sequence[ProgressRow]
    heads: Sequence[Head]
    which: Sequence[Choice]
    states: Sequence[Choice]
    sort: str
    query: str
    seen: str


def columns() -> list[Column[RoundProgress]]:
    return [
        Column("language", _("Language"), lambda row: row.round.language.name.casefold(), is_number=False),
        Column("wanted", _("Required"), lambda row: row.wanted),
        Column("done", _("Done"), lambda row: row.done),
        Column("assigned", _("Assigned"), lambda row: row.assigned),
        Column("open", _("Free"), lambda row: row.open),
        Column("expired", _("Expired batches"), lambda row: row.expired),
        Column("late", _("Late"), lambda row: row.late),
        Column("pace", _("Per day"), lambda row: row.pace.per_day),
        Column("end", _("Estimated finish"), lambda row: row.ends_on, is_number=False),
        Column("minutes", _("Minutes each"), lambda row: row.minutes),
        Column("agreement", _("Agreement"), lambda row: row.shared.exact if row.shared else None),
        Column("overridden", _("Warnings"), lambda row: row.overridden),
        Column("qualified", _("Can write"), lambda row: row.qualified),
        Column("invited", _("Invited"), lambda row: row.invited),
    ]


def progress_page(progress: ProjectProgress, query: QueryDict) -> ProgressPage:
    which, state = query.get("rounds", CURRENT), query.get("state", "")
    rows = [row for row in _chosen(progress.rounds, which) if state in ("", row.round.state)]
    known = columns()
    order = tables.asked_order(query, known)
    kept = query.copy()
    kept.pop("seen", None)
    shown_rows = [_row(row) for row in tables.in_order(rows, known, order)]
    return ProgressPage(
        progress=progress,
        rows=shown_rows,
        heads=tables.heads(known, order, query),
        which=_choices(_which(), which),
        states=_choices([("", _("In any state")), *((str(key), str(name)) for key, name in RoundState.choices)], state),
        sort=query.get(tables.SORT, ""),
        query=kept.urlencode(),
        seen=_seen(progress, shown_rows),
    )


def _seen(progress: ProjectProgress, rows: Sequence[ProgressRow]) -> str:
    rounds = [(row.progress.round.state, row.progress.round.pool.is_open) for row in rows]
    everything = (progress.awaits_tasks, progress.done, progress.wanted, progress.left_out, rounds, rows)
    return sha256(repr(everything).encode()).hexdigest()[:SEEN_DIGITS]


def _which() -> list[tuple[str, str]]:
    kinds = [(str(key), str(name)) for key, name in RoundKind.choices]
    return [(CURRENT, _("Current round of each language")), *kinds, (ALL, _("All rounds"))]


def _choices(known: Iterable[tuple[str, str]], chosen: str) -> list[Choice]:
    return [Choice(value, label, value == chosen) for value, label in known]


def _chosen(rounds: Sequence[RoundProgress], which: str) -> list[RoundProgress]:
    if which in RoundKind.values:
        return [row for row in rounds if row.round.kind == which]
    if which == ALL:
        return list(rounds)
    by_language = groupby(rounds, key=lambda row: row.round.language_id)
    return [_current(list(rows_of_language)) for _, rows_of_language in by_language]


def _current(rounds: Sequence[RoundProgress]) -> RoundProgress:
    """Choose a round of a language: the one being worked on, else the next, else the last."""
    for state in (RoundState.OPEN, RoundState.CLOSED, RoundState.PLANNED):
        in_state = [row for row in rounds if row.round.state == state]
        if in_state:
            return in_state[0] if state == RoundState.PLANNED else in_state[-1]
    return rounds[-1]


def _row(row: RoundProgress) -> ProgressRow:
    return ProgressRow(
        progress=row,
        pace=texts.plain(row.pace.per_day, 1),
        ends_on=date_format(row.ends_on, "j M Y") if row.ends_on else NOTHING,
        minutes=minutes(row.minutes),
        exact=exact(row.shared),
        alpha=alpha(row.shared),
    )


def minutes(value: float | None) -> str:
    return NOTHING if value is None else texts.plain(value, 1)


def exact(shared: Shared | None) -> str:
    return NOTHING if shared is None or shared.exact is None else texts.percent(100 * shared.exact, 0)


def alpha(shared: Shared | None) -> str:
    """Format a value; empty if there is none."""
    return "" if shared is None or shared.alpha is None else f"α {texts.plain(shared.alpha, 2)}"
