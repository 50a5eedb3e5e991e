"""Tables of pages: columns declared once, for their heads, cells, order, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

Row = TypeVar("Row")
SORT = "sort"
DESCENDING = "-"
NUMBER, TEXT = "number", ""
NO_VALUE = "–"


@dataclass(frozen=True)
class TableColumn(Generic[Row]):
    """A column; `value` is what rows are sorted by, and what is shown unless there is a `cell`.

    Rows for which it is None come last in either order. `kind` is a class of the style sheets. A column that does not
    sort has no link in its head.
    """

    name: str
    label: str
    value: Callable[[Row], Any]
    cell: Callable[[Row], Any] | None = None
    kind: str = NUMBER
    sorts: bool = True

    def shown(self, row: Row) -> Any:
        return (self.cell or self.value)(row)


@dataclass(frozen=True)
class ColumnHead:
    """The head of a column. `order` is “ascending” or “descending” if the table is sorted by it; `url` sorts by it."""

    label: str
    kind: str
    url: str = ""
    order: str = ""


@dataclass(frozen=True)
class SortOrder:
    name: str
    is_falling: bool


@dataclass(frozen=True)
class PageTable(Generic[Row]):
    """What `_table.html` shows. With the `query` of the address, a link in the head of each column sorts by it.

    Without a caption, `id` is of the heading above it.
    """

    id: str
    caption: str
    columns: Sequence[TableColumn[Row]]
    rows: Sequence[Row]
    empty: str = ""
    query: QueryDict | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def heads(self) -> list[ColumnHead]:
        if self.query is None:
            return [ColumnHead(column.label, column.kind) for column in self.columns]
        return column_heads(self.columns, asked_order(self.query, self.columns), self.query)


def asked_order(query: QueryDict, columns: Sequence[TableColumn[Row]]) -> SortOrder:
    """Return the column that the query names, or else the first."""
    asked = query.get(SORT, "")
    name = asked.removeprefix(DESCENDING)
    if any(column.name == name and column.sorts for column in columns):
        return SortOrder(name, asked.startswith(DESCENDING))
    return SortOrder(columns[0].name, is_falling=False)


def in_order(rows: Iterable[Row], columns: Sequence[TableColumn[Row]], order: SortOrder) -> list[Row]:
    """Sort rows; equal rows keep their order."""
    value = next(column.value for column in columns if column.name == order.name)
    keyed = [(value(row), row) for row in rows]
    known = [one for one in keyed if one[0] is not None]
    known.sort(key=lambda one: one[0], reverse=order.is_falling)
    return [row for _, row in known] + [row for key, row in keyed if key is None]


def column_heads(columns: Sequence[TableColumn[Row]], order: SortOrder, query: QueryDict) -> list[ColumnHead]:
    """Return the default order: numbers from the highest, names from A; asked again, the other way."""
    made = []
    for column in columns:
        if not column.sorts:
            made.append(ColumnHead(column.label, column.kind))
            continue
        is_sorted = column.name == order.name
        is_falling = not order.is_falling if is_sorted else column.kind.startswith(NUMBER)
        link = query.copy()
        link.pop("page", None)
        link.pop("seen", None)
        link[SORT] = f"{DESCENDING if is_falling else ''}{column.name}"
        said = ("descending" if order.is_falling else "ascending") if is_sorted else ""
        made.append(ColumnHead(column.label, column.kind, f"?{link.urlencode()}", said))
    return made


def parts(*pieces: object) -> SafeString:
    """The content of a cell from several pieces, of which empty ones are left out."""
    return format_html_join(" ", "{}", ((piece,) for piece in pieces if piece))


def link(url: str, text: object) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, text)


def isolated(text: object) -> SafeString:
    """Names and figures of which the direction may differ from that of the page."""
    return format_html("<bdi>{}</bdi>", text) if text else SafeString()


def figure(text: object) -> SafeString:
    """A figure that is not broken into two lines."""
    return format_html('<bdi class="together">{}</bdi>', text) if text else SafeString()


def note(text: object) -> SafeString:
    return format_html('<span class="small muted">{}</span>', text) if text else SafeString()


def long_note(text: object) -> SafeString:
    """A note of several lines, such as why there is no figure."""
    return format_html('<span class="small muted wraps">{}</span>', text) if text else SafeString()


def tag(text: object, kind: str = "") -> SafeString:
    return format_html('<span class="tag{}">{}</span>', kind and f" tag--{kind}", text) if text else SafeString()


def for_readers(text: object) -> SafeString:
    """What screen readers say."""
    return format_html('<span class="visually-hidden">{}</span>', text)
