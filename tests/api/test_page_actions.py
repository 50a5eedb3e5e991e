"""What people do on pages, programs can do too: page_actions.txt names the operation of each action, or why none.

Whoever adds an action to a page is told here that the table lacks it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.test_schema import schema
from tests.clients import client_of
from tests.doors.asking import ours
from tests.factories import make_user
from tests.leaks.addresses import GUESSED

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = Path(__file__).with_name("page_actions.txt")
ANY = {
    **GUESSED,
    **dict.fromkeys(("slug", "layout", "size", "person_id", "rater_id"), ("1",)),
    **dict.fromkeys(("public_id", "batch_id", "turn_id"), ("00000000-0000-0000-0000-000000000000",)),
    "dashboard:guide-show name": ["api"],
}
LEAST_CHARACTERS = 15
"""Of a reason."""


def table(text: str) -> dict[str, tuple[set[str], str]]:
    """Operations, or a reason, by the name of the page."""
    found: dict[str, tuple[set[str], str]] = {}
    app, reason = "", ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            app, _colon, reason = line.partition(":")
            continue
        name, *operations = line.split()
        assert f"{app}:{name}" not in found, f"page_actions.txt names {name} of {app} twice"
        found[f"{app}:{name}"] = (set(operations), reason.strip())
    return found


def page_actions() -> set[str]:
    """List the pages of our apps that take POST; pages of accounts are allauth's."""
    pages = [route for route in ours() if ":" in route.name and not route.template.startswith("api/")]
    outsider = client_of(make_user())
    return {route.name for route in pages if outsider.post(route.addresses(ANY)[0]).status_code != 405}


def test_every_action_of_a_page_has_an_operation_or_a_reason() -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    assert set(named) == page_actions(), "page_actions.txt lacks an action, or names one that is gone"
    for name, (operations, reason) in named.items():
        assert operations or len(reason) >= LEAST_CHARACTERS, name
        assert not (operations and reason), name


def test_every_operation_that_is_named_is_there() -> None:
    there = {one["operationId"] for methods in schema().values() for one in methods.values()}
    named = table(TABLE.read_text(encoding="utf-8"))
    assert {name: gone for name, (operations, _reason) in named.items() if (gone := operations - there)} == {}
    assert len(named) > 100
