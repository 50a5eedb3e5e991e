from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Round
from people.models import User
from tests.annotation.released import Campaign, written
from tests.factories import make_annotator


@pytest.fixture
def campaign(made_once) -> Campaign:
    return made_once(Campaign)


@pytest.fixture
def ann(round: Round) -> User:
    """Who may write in the `round` of a module."""
    return make_annotator(round, "ann")


@pytest.fixture
def folder(campaign, tmp_path) -> Path:
    place = tmp_path / "release"
    written(campaign.start(), place)
    return place
