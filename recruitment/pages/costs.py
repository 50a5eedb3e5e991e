"""The page of hours, quality and cost: who is shown, in which order, with figures as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.models import Rating
from annotation.pages import tables
from annotation.pages.quality import or_better
from annotation.pages.tables import Column, Head
from charts import texts
from languages.models import Language
from recruitment.selectors.costs import CostRow, CostTotals, totals_of

PER_PAGE = 50
NOTHING = "–"


@dataclass(frozen=True)
class CostLine:
    row: CostRow
    hours: str
    good: str
    agreement: str
    checks: str


@dataclass(frozen=True)
class CostsPage:
    """`totals` are of all rows that the filters select, on all pages."""

    page: Page[CostRow]
    lines: Sequence[CostLine]
    heads: Sequence[Head]
    totals: CostTotals
    hours: str
    languages: Sequence[Language]
    name: str
    language: str
    sort: str
    query: str


def columns() -> list[Column[CostRow]]:
    return [
        Column("name", _("Name"), lambda row: row.person.username.casefold(), is_number=False),
        Column("language", _("Language"), lambda row: row.language.name.casefold(), is_number=False),
        Column("hours", _("Hours"), lambda row: row.active_ms),
        Column("captions", _("Captions"), lambda row: row.done.captions),
        Column("ratings", _("Rated"), lambda row: row.done.ratings),
        Column("judgements", _("Pairs judged"), lambda row: row.judging.judgements),
        Column("good", or_better(Rating.GOOD), lambda row: row.good),
        Column("agreement", _("Agreement"), lambda row: row.agreement),
        Column("checks", _("Checks passed"), lambda row: row.checks_passed),
        Column("cost", _("Cost"), lambda row: row.cost),
    ]


def selected(rows: Sequence[CostRow], query: QueryDict) -> list[CostRow]:
    """Return the rows that the address asks for, in its order."""
    name, tag = query.get("name", "").strip().casefold(), query.get("language", "")
    shown = [row for row in rows if name in row.person.username.casefold() and tag in ("", row.language.pk)]
    known = columns()
    return tables.in_order(shown, known, tables.asked_order(query, known))


def costs_page(rows: Sequence[CostRow], query: QueryDict) -> CostsPage:
    shown, known = selected(rows, query), columns()
    page = Paginator(shown, PER_PAGE).get_page(query.get("page"))
    totals = totals_of(shown)
    return CostsPage(
        page=page,
        lines=[_line(row) for row in page],
        heads=tables.heads(known, tables.asked_order(query, known), query),
        totals=totals,
        hours=texts.plain(totals.hours),
        languages=sorted({row.language.pk: row.language for row in rows}.values(), key=lambda one: one.name),
        name=query.get("name", "").strip(),
        language=query.get("language", ""),
        sort=query.get(tables.SORT, ""),
        query=query.urlencode(),
    )


def _line(row: CostRow) -> CostLine:
    return CostLine(
        row=row,
        hours=texts.plain(row.hours),
        good=_share(row.good),
        agreement=_share(row.agreement),
        checks=_share(row.checks_passed),
    )


def _share(value: float | None) -> str:
    return NOTHING if value is None else texts.percent(100 * value, 0)
