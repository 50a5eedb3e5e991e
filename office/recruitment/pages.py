"""The page of hours, quality and cost: who is shown, in which order, with figures as text; and its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Rating
from annotation.pages.annotators import caption
from annotation.pages.quality import or_better
from charts import texts
from core.people.pages import address
from crosslens_metrics.sampling.intervals import wilson_interval
from office.recruitment.selectors.costs import CostRow, totals_of
from tabular import tables
from tabular.tables import TEXT, PageTable, TableColumn, figure, isolated, link, note, parts

PER_PAGE = 50


def columns(slug: str) -> list[TableColumn[CostRow]]:
    return [
        TableColumn("name", _("Name"), lambda row: row.person.username.casefold(), lambda row: _name(row, slug), TEXT),
        TableColumn(
            "language", _("Language"), lambda row: row.language.name.casefold(), lambda row: row.language.name, TEXT
        ),
        TableColumn("hours", _("Hours"), lambda row: row.active_ms, lambda row: texts.plain_number(row.hours)),
        TableColumn("captions", _("Captions"), lambda row: row.done.captions),
        TableColumn("ratings", _("Rated"), lambda row: row.done.ratings),
        TableColumn("judgements", _("Pairs judged"), lambda row: row.judging.judgements),
        TableColumn(
            "good", or_better(Rating.GOOD), lambda row: row.good, lambda row: _share(row.done.good, row.done.verified)
        ),
        TableColumn(
            "agreement", _("Agreement"), lambda row: row.agreement, lambda row: _share(row.done.same, row.done.pairs)
        ),
        TableColumn(
            "checks",
            _("Checks passed"),
            lambda row: row.checks_passed,
            lambda row: _share(row.judging.passed, row.judging.checks),
        ),
        TableColumn("cost", _("Cost"), lambda row: row.cost, _cost),
    ]


def selected_rows(rows: Sequence[CostRow], query: QueryDict, slug: str) -> list[CostRow]:
    """Return the rows that the address asks for, in its order."""
    tag = query.get("language", "")
    shown = [row for row in named_rows(rows, query.get("name", "")) if tag in ("", row.language.pk)]
    known = columns(slug)
    return tables.in_order(shown, known, tables.asked_order(query, known))


def named_rows(rows: Iterable[CostRow], name: str) -> Iterator[CostRow]:
    """Return the rows of people whose name contains `name`, in letters of either case."""
    return (row for row in rows if name.strip().casefold() in row.person.username.casefold())


def costs_page(rows: Sequence[CostRow], query: QueryDict, slug: str) -> dict[str, Any]:
    """Return the context of the page; `totals` are of all rows that the filters select, on all pages."""
    shown, known = selected_rows(rows, query, slug), columns(slug)
    page = Paginator(shown, PER_PAGE).get_page(query.get("page"))
    totals = totals_of(shown)
    return {
        "page": page,
        "table": PageTable("costs-caption", caption(page.paginator.count), known, page, _empty(query), query),
        "totals": totals,
        "hours": texts.plain_number(totals.hours),
        "languages": sorted({(row.language.pk, row.language.name) for row in rows}, key=lambda one: one[1]),
        "good_or_better": or_better(Rating.GOOD),
    }


def _name(row: CostRow, slug: str) -> str:
    name = isolated(row.person.username)
    if row.done.active_ms:
        name = link(address("annotation:annotator-show", slug, row.person.pk), name)
    return parts(name, note(row.panel_id and parts(_("from a panel:"), isolated(row.panel_id))))


def _share(count: int, out_of: int) -> str | None:
    if not out_of:
        return None
    of = ngettext("of %(number)s", "of %(number)s", out_of) % {"number": out_of}
    interval = texts.interval_text(wilson_interval(count, out_of).times(100), 0)
    return parts(texts.percentage(100 * count / out_of, 0), note(figure(interval)), note(of))


def _cost(row: CostRow) -> str | None:
    return None if row.cost is None else f"{row.cost} {row.currency}"


def _empty(query: QueryDict) -> str:
    return _("Nobody matches these filters.") if query else _("Nobody has submitted work yet.")


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


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
