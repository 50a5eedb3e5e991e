from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annotation.models import Release, Round
from annotation.services.releases import build
from core.people.models import User
from tests.annotation.released import UNTIL, Campaign, written
from tests.factories import make_annotator


@pytest.fixture
def campaign(made_once, request) -> Campaign:
    return request.getfixturevalue("_released")[0] if "release" in request.fixturenames else made_once(Campaign)


@pytest.fixture
def release(_released) -> Release:
    """Of the `campaign`, with its files in the storage."""
    return _released[1]


@pytest.fixture
def _released(media, made_once, _kept_files) -> tuple[Campaign, Release]:
    found = made_once(_make_release)
    source, target = (_kept_files, media) if any(_kept_files.iterdir()) else (media, _kept_files)
    shutil.copytree(source, target, dirs_exist_ok=True)
    return found


@pytest.fixture(scope="module")
def _kept_files(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kept")


def _make_release() -> tuple[Campaign, Release]:
    campaign = Campaign()
    made = campaign.start()
    build(release_id=made.pk, clock=lambda: UNTIL)
    made.refresh_from_db()
    return campaign, made


@pytest.fixture
def ann(round: Round) -> User:
    """Who may write in the `round` of a module."""
    return make_annotator(round, "ann")


@pytest.fixture
def folder(campaign, tmp_path) -> Path:
    place = tmp_path / "release"
    written(campaign.start(), place)
    return place
