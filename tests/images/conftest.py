from __future__ import annotations

from pathlib import Path

import pytest

from tests.images.pictures import picture


@pytest.fixture(autouse=True)
def _media(media: Path) -> None:
    """All tests of images write files."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    return folder


@pytest.fixture
def stocked(folder: Path) -> Path:
    """The folder with one picture in it, a.jpg."""
    (folder / "a.jpg").write_bytes(picture())
    return folder
