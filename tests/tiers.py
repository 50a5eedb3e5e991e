"""Which tests run: `make test` runs each once, on the database where it can break; `make test-all` runs all on both.

- `@pytest.mark.postgres`: about what PostgreSQL decides, or its app's one walk over it. `make test` runs it only there.
- `@pytest.mark.sqlite`: about SQLite itself, or about nothing that a database decides. Never runs on PostgreSQL.
- `@pytest.mark.long(reason=...)`: the same rules again with more rivals, more data or more ways. Only with `--long`.
  In a browser, all parameters of a test but the first are.
- `@pytest.mark.process`: starts processes of its own. Such tests, and those in a browser, get a second try.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings

DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}

# The same examples each time, so that no change is held up by chance; `make test-all` draws others each time.
hypothesis.settings.register_profile("short", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", max_examples=500, deadline=None, print_blob=True)


RUN_AGAIN = "a fault that is there shows in a few runs; one that is rare in many"


def some(values: Iterable[Any], *, short: int, reason: str) -> list[Any]:
    """Parameters of a test: the first `short` of `values` always, the others, for this `reason`, with `--long`.

    A tuple has one value for each of several parameters.
    """
    long = pytest.mark.long(reason=reason)
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=[long] if number >= short else []) for number, row in enumerate(rows)]


def runs(number: int, *, short: int = 1) -> list[Any]:
    """Parameters of a race: `short` runs always, `number` with `--long`.

    A race that is marked `postgres` is run again on PostgreSQL alone: on SQLite its rivals write one after the other.
    """
    return some(range(number), short=short, reason=RUN_AGAIN)


def is_long(config: pytest.Config) -> bool:
    return bool(config.getoption("--long"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run everything that there is for this database")


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("long" if is_long(config) else "short")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """On PostgreSQL, collect no file without tests for it: to collect them all takes longer than to run those."""
    if collection_path.suffix != ".py" or is_long(config) or not _is_on_postgres():
        return None
    return None if "mark.postgres" in collection_path.read_text(encoding="utf-8") else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "page" in getattr(item, "fixturenames", ()) or "/browser/" in item.nodeid:
            item.add_marker("browser")
            if hasattr(item, "callspec") and any(item.callspec.indices.values()):
                item.add_marker(pytest.mark.long(reason="the same page on another screen, or in another language"))
        if item.get_closest_marker("browser") or item.get_closest_marker("process"):
            item.add_marker(pytest.mark.flaky(reruns=1))
        for mark in item.iter_markers("long"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is marked long without a reason=...")
    chosen = _runs_with_long if is_long(config) else _runs
    left_out = [item for item in items if not chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if chosen(item)]


def _runs(item: pytest.Item) -> bool:
    # A test of SQLite may stand among those of PostgreSQL.
    is_for_postgres = bool(item.get_closest_marker("postgres")) and not item.get_closest_marker("sqlite")
    return is_for_postgres == _is_on_postgres() and not item.get_closest_marker("long")


def _runs_with_long(item: pytest.Item) -> bool:
    if not _is_on_postgres():
        is_run_again = any(mark.kwargs["reason"] == RUN_AGAIN for mark in item.iter_markers("long"))
        return not (is_run_again and item.get_closest_marker("postgres"))
    if item.get_closest_marker("browser") or item.get_closest_marker("sqlite"):
        return False
    if item.get_closest_marker("postgres"):
        return True
    return bool(item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())))


def _is_on_postgres() -> bool:
    return "postgresql" in settings.DATABASES["default"]["ENGINE"]
