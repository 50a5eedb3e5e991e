from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.world import World, make_world


@pytest.fixture
def world(media: Path) -> World:
    return make_world(media)
