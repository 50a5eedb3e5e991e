"""Fixtures whose rows a file makes once for all of its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def kept(make: Callable[[], Any]) -> Any:
    """A fixture that is what `make` returns; it is to be the first of a test's that makes rows."""

    @pytest.fixture(name=make.__name__)
    def fixture(made_once: Callable[[Callable[[], Any]], Any]) -> Any:
        return made_once(make)

    return fixture
