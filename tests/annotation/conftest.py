from __future__ import annotations

from pathlib import Path

import pytest

from tests.annotation.released import Campaign, written


@pytest.fixture
def campaign() -> Campaign:
    return Campaign()


@pytest.fixture
def folder(campaign, tmp_path) -> Path:
    place = tmp_path / "release"
    written(campaign.start(), place)
    return place
