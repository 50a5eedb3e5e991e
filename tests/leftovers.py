"""A run leaves nothing in the system's temporary folder but what its processes remove as they end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REMOVED_AT_EXIT = ("crosslens_test_", "crosslens_pg_", "playwright-")
"""By tests/settings.py, tests/servers.py and pytest-playwright."""

_made: list[str] = []


def pytest_configure() -> None:
    sys.addaudithook(_note)


def _note(event: str, args: tuple[Any, ...]) -> None:
    if event in ("tempfile.mkdtemp", "tempfile.mkstemp"):
        _made.append(os.fsdecode(args[0]))


def left_over() -> list[Path]:
    """What this process made directly in the temporary folder and is still there."""
    here = Path(tempfile.gettempdir())
    made = [path for path in map(Path, _made) if path.parent == here and not path.name.startswith(REMOVED_AT_EXIT)]
    return [path for path in made if path.exists()]


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_over() -> Iterator[None]:
    yield
    assert not left_over()
