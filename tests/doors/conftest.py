from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.owned import Owning, make_owning
from tests.doors.world import World, make_world


@pytest.fixture
def world(media: Path) -> World:
    return make_world(media)


@pytest.fixture
def us(media: Path) -> Owning:
    return make_owning("zebra")


@pytest.fixture
def them(us: Owning) -> Owning:
    return make_owning("giraffe")
