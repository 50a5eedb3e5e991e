"""Hours, work, quality and cost of each person in each language, as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from office.recruitment.selectors.costs import CostRow
from tabular.downloads import cells_of, table_lines

COLUMNS: Mapping[str, Callable[[CostRow], Any]] = {
    "name": lambda row: row.person.username,
    "address": lambda row: row.person.email,
    "panel_id": lambda row: row.panel_id,
    "language": lambda row: row.language.pk,
    "hours": lambda row: round(row.hours, 3),
    "captions": lambda row: row.done.captions,
    "ratings": lambda row: row.done.ratings,
    "judgements": lambda row: row.judging.judgements,
    "verified": lambda row: row.done.verified,
    "good": lambda row: _rounded(row.good),
    "agreement": lambda row: _rounded(row.agreement),
    "checks": lambda row: row.judging.checks,
    "checks_passed": lambda row: _rounded(row.checks_passed),
    "rate": lambda row: row.rate,
    "cost": lambda row: row.cost,
    "currency": lambda row: row.currency,
}


def costs_as_csv(rows: Iterable[CostRow]) -> Iterator[str]:
    return table_lines(COLUMNS, cells_of(COLUMNS, rows), as_csv=True)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
