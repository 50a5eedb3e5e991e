"""The overview of a project: a row for the current round of each language, or for every round, in chosen columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.models import RoundKind, RoundState
from annotation.pages.progress import seen_of
from annotation.pages.room_columns import RoomCell, RoomColumn, room_columns
from annotation.rules.waiting import WaitsFor
from annotation.selectors.control_room import RoomRow, room_rows
from annotation.selectors.overview import ProjectProgress
from core.languages.models import Language
from core.people.pages import address
from tabular import tables
from tabular.tables import TEXT, TableColumn

CURRENT, ALL = "current", "all"
COLUMNS, DEFAULT = "columns", "default"
CHOSEN = ("language", "round", "choose")
"""What says which rows are ticked. Links to the same page leave it out; the script of the page adds what is ticked."""


def room_page(progress: ProjectProgress, query: QueryDict, *, kept_columns: str, now: datetime) -> dict[str, Any]:
    """Prepare the page: `seen` identifies all that it shows, so that it is not sent twice; `query` asks for it again.

    `columns` are all there are, and whether each is shown.
    """
    known = room_columns(now.date())
    is_default, shown = _shown(known, kept_columns)
    rows = _asked(room_rows(progress, now=now), query)
    wide = {column.name for column in shown if is_default and column.is_wide}
    sortable = [_language_column(), *(_sortable(column, wide) for column in known)]
    order = tables.asked_order(query, sortable)
    is_current = query.get("rounds", CURRENT) not in (*RoundKind.values, ALL)
    lines = [_line(row, shown, wide, query, is_current=is_current) for row in tables.in_order(rows, sortable, order)]
    kept = query.copy()
    for name in ("seen", *CHOSEN):
        kept.pop(name, None)
    totals = [_cell(column, RoomCell(column.add(rows), column.kind), wide) for column in shown]
    heads = tables.column_heads([_language_column(), *(_sortable(column, wide) for column in shown)], order, kept)
    return {
        "progress": progress,
        "lines": lines,
        "heads": heads,
        "totals": totals,
        "columns": [(column, column in shown) for column in known],
        "is_default": is_default,
        "which": _which(),
        "states": RoundState.choices,
        "waits": WaitsFor.choices,
        "asked": [(name, value) for name, values in kept.lists() for value in values],
        "query": kept.urlencode(),
        "seen": _seen(progress, lines, totals),
    }


def asked_columns(query: QueryDict) -> str | None:
    """Return the columns that a form asks for, as they are kept in the browser; None if it asks for none."""
    if COLUMNS not in query:
        return None
    asked = query.getlist(COLUMNS)
    if DEFAULT in asked:
        return ""
    names = [column.name for column in room_columns(date.min) if column.name in asked]
    return ".".join(names) or "none"


def _shown(known: Sequence[RoomColumn], kept: str) -> tuple[bool, list[RoomColumn]]:
    if not kept:
        return True, list(known)
    names = set(kept.split("."))
    return False, [column for column in known if column.name in names]


def _language_column() -> TableColumn[RoomRow]:
    return TableColumn("language", _("Language"), lambda row: row.round.language.name.casefold(), kind=TEXT)


def _sortable(column: RoomColumn, wide: Collection[str]) -> TableColumn[RoomRow]:
    return TableColumn(column.name, column.label, column.value, kind=_narrowed(column, column.kind, wide))


def _asked(rows: Iterable[RoomRow], query: QueryDict) -> list[RoomRow]:
    which, state, waits = query.get("rounds", CURRENT), query.get("state", ""), query.get("waits", "")
    search = query.get("search", "").strip().casefold()

    def is_found(language: Language) -> bool:
        if not search:
            return True
        names = (language.name, language.own_name, language.english_name, language.pk)
        return any(search in name.casefold() for name in names)

    def is_asked(row: RoomRow) -> bool:
        round = row.round
        if which in RoundKind.values:
            if round.kind != which:
                return False
        elif which != ALL and not row.is_current:
            return False
        if state not in ("", round.state) or not is_found(round.language):
            return False
        return not waits or waits == row.waiting.who

    return [row for row in rows if is_asked(row)]


def _line(
    row: RoomRow, shown: Sequence[RoomColumn], wide: Collection[str], query: QueryDict, *, is_current: bool
) -> dict[str, Any]:
    """Prepare a row of the table; `name` and `value` are those of its checkbox. The last three are addresses."""
    round, slug = row.round, row.round.project.slug
    name, value = ("language", round.language_id) if is_current else ("round", str(round.pk))
    return {
        "row": row,
        "language": round.language.name,
        "title": round.title,
        "cells": [_cell(column, column.cell(row), wide) for column in shown],
        "name": name,
        "value": value,
        "is_chosen": query.get("choose") == ALL or value in query.getlist(name),
        "page": address("annotation:language-show", slug, round.language_id),
        "samples": address("annotation:samples-show", slug, round.pk) if round.opened_at or round.source else "",
        "settings": address("annotation:round-settings", slug, round.pk),
    }


def _cell(column: RoomColumn, cell: RoomCell, wide: Collection[str]) -> RoomCell:
    return cell._replace(kind=_narrowed(column, cell.kind, wide))


def _narrowed(column: RoomColumn, kind: str, wide: Collection[str]) -> str:
    return f"{kind} is-wide" if column.name in wide else kind


def _seen(progress: ProjectProgress, lines: Sequence[dict[str, Any]], totals: Sequence[RoomCell]) -> str:
    said = [(line["value"], line["title"], line["cells"]) for line in lines]
    return seen_of((progress.awaits_tasks, progress.done, progress.wanted, progress.left_out, totals, said))


def _which() -> list[tuple[str, str]]:
    kinds = [(str(key), str(name)) for key, name in RoundKind.choices]
    return [(CURRENT, _("Current round of each language")), *kinds, (ALL, _("All rounds"))]
