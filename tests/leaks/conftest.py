from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.leaks.annotators import World, make_world


@pytest.fixture
def world(made_once: Callable[[Callable[[], World]], World]) -> World:
    """Of annotators; files about other people have one of their own."""
    return made_once(make_world)
