"""What people read on pages, programs can read too: page_figures.txt names the operations of each page, or why none.

Whoever adds a page is told here that the table lacks it; whoever adds a filter to one, that the operation does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict

from tests.api.test_page_actions import (
    LEAST_CHARACTERS,
    fields_of_operations,
    forms_made,
    had_otherwise,
    page_actions,
    pages,
    table,
)
from tests.doors.asking import ours, signed_in
from tests.doors.conftest import world as world
from tests.doors.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = Path(__file__).with_name("page_figures.txt")
OTHERWISE = Path(__file__).with_name("page_filters.txt")
ASKED, CURSOR = "_", {"page", "after", "before"}
"""A name that nothing reads, so that the query is not empty; and which part of a list is shown, as `cursor` says it."""


def test_every_page_that_shows_something_has_an_operation_or_a_reason() -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    assert set(named) == {page.name for page in pages()} - page_actions(), (
        "page_figures.txt lacks a page, or has too many"
    )
    there = fields_of_operations()
    for name, (operations, reason) in named.items():
        assert bool(operations) != (len(reason) >= LEAST_CHARACTERS), name
        assert operations <= set(there), name


@contextmanager
def names_read() -> Iterator[set[str]]:
    """The names that are read of the queries of requests."""
    names: set[str] = set()

    class NotedQuery(QueryDict):
        def __getitem__(self, name: str) -> Any:
            names.add(name)
            return super().__getitem__(name)

        def __contains__(self, name: object) -> bool:
            names.add(str(name))
            return super().__contains__(name)

        def getlist(self, name: str, default: Any = None) -> Any:
            names.add(name)
            return super().getlist(name, default)

    query = property(lambda request: NotedQuery(request.META.get("QUERY_STRING", "")))
    with patch.object(WSGIRequest, "GET", query):
        yield names


def filters_of_pages(world: World) -> dict[str, set[str]]:
    """What each page of the table reads of its address, for whoever of the project is shown it first.

    Forms that are made only when a button was pressed are asked for their fields.
    """
    found: dict[str, set[str]] = {}
    clients = [signed_in(world.seeded.manager), *map(signed_in, world.insiders)]
    named = table(TABLE.read_text(encoding="utf-8"))
    for route in (one for one in ours() if named.get(one.name, ("", ""))[0]):
        (address, *_more) = route.addresses(world.known)
        for client in clients:
            with forms_made() as forms, names_read() as names:
                answer = client.get(address, {ASKED: "1"})
            fields = {name for form in forms for name, field in form.fields.items() if not field.widget.is_hidden}
            if answer.status_code == 200:
                found[route.name] = (names | fields) - CURSOR - {ASKED}
                break
    return found


@pytest.mark.long(reason="it asks for every page, which takes as long as all else in this folder")
def test_every_filter_of_a_page_is_one_of_its_operations(world: World) -> None:
    named, taken = table(TABLE.read_text(encoding="utf-8")), fields_of_operations()
    lacking = {
        page: filters - set().union(*(taken[one] for one in named[page][0]))
        for page, filters in filters_of_pages(world).items()
    }
    assert {page: filters for page, filters in lacking.items() if filters} == had_otherwise(OTHERWISE), (
        "an operation of page_figures.txt lacks a filter, or page_filters.txt names one that it has"
    )
