"""Tables that are sorted by a link in the head of each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.http import QueryDict

Row = TypeVar("Row")
SORT = "sort"
FALLING = "-"


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column; `value` is what rows are sorted by. Rows for which it is None come last in either order."""

    name: str
    label: str
    value: Callable[[Row], Any]
    is_number: bool = True


@dataclass(frozen=True)
class Head:
    """The head of a column. `order` is “ascending” or “descending” if the table is sorted by it; `url` sorts by it."""

    label: str
    url: str
    order: str
    is_number: bool


@dataclass(frozen=True)
class Order:
    name: str
    is_falling: bool


def asked_order(query: QueryDict, columns: Sequence[Column[Row]]) -> Order:
    """Return the column that the query names, or else the first."""
    asked = query.get(SORT, "")
    name = asked.removeprefix(FALLING)
    if any(column.name == name for column in columns):
        return Order(name, asked.startswith(FALLING))
    return Order(columns[0].name, is_falling=False)


def in_order(rows: Iterable[Row], columns: Sequence[Column[Row]], order: Order) -> list[Row]:
    """Sort rows; equal rows keep their order."""
    value = next(column.value for column in columns if column.name == order.name)
    keyed = [(value(row), row) for row in rows]
    known = [one for one in keyed if one[0] is not None]
    known.sort(key=lambda one: one[0], reverse=order.is_falling)
    return [row for _, row in known] + [row for key, row in keyed if key is None]


def heads(columns: Sequence[Column[Row]], order: Order, query: QueryDict) -> list[Head]:
    """Return the default order: numbers from the highest, names from A; asked again, the other way."""
    made = []
    for column in columns:
        is_sorted = column.name == order.name
        is_falling = not order.is_falling if is_sorted else column.is_number
        link = query.copy()
        link.pop("page", None)
        link.pop("seen", None)
        link[SORT] = f"{FALLING if is_falling else ''}{column.name}"
        said = ("descending" if order.is_falling else "ascending") if is_sorted else ""
        made.append(Head(column.label, f"?{link.urlencode()}", said, column.is_number))
    return made
