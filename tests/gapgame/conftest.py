"""A season and its manager; a set of items, and a folder of images for it. A module may have its own instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.people.models import Project
from gapgame.models import ItemSet, Season
from gapgame.services.items import create_item_set
from tests.factories import NOW, make_project, make_season
from tests.gapgame.seasons import set_clock
from tests.images.image_files import image_file


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is NOW."""
    set_clock(monkeypatch, NOW)


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def season(project) -> Season:
    return make_season(project=project, name="Spring", batch_size=10)


@pytest.fixture
def item_set(db: None) -> ItemSet:
    return create_item_set(project=make_project("whales"), name="Animals", by=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "items"
    folder.mkdir()
    for shade, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        (folder / name).write_bytes(image_file(shade=10 * shade))
    manifest = "file,author,licence,licence_url\n" + "".join(
        f"{name},Ada Example,CC BY 4.0,https://example.org/by\n" for name in ("a.jpg", "b.jpg", "c.jpg")
    )
    (folder / "manifest.csv").write_text(manifest)
    return folder
