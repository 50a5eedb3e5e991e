from __future__ import annotations

import pytest

from tests.leaks.annotators import World, make_world


@pytest.fixture
def world() -> World:
    """Of annotators; files about other people have one of their own."""
    return make_world()
