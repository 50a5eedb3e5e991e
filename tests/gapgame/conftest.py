"""A set of items, and a folder of pictures to import into it. A module may have its own instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapgame.models import ItemSet
from gapgame.services.items import create_item_set
from tests.corpus.pictures import picture
from tests.factories import make_project


@pytest.fixture
def item_set(db: None) -> ItemSet:
    return create_item_set(project=make_project("whales"), name="Animals", by=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "items"
    folder.mkdir()
    for shade, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        (folder / name).write_bytes(picture(shade=10 * shade))
    manifest = "file,author,licence,licence_url\n" + "".join(
        f"{name},Ada Example,CC BY 4.0,https://example.org/by\n" for name in ("a.jpg", "b.jpg", "c.jpg")
    )
    (folder / "manifest.csv").write_text(manifest)
    return folder
