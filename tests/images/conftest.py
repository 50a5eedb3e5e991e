from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.factories import make_project, make_user
from tests.images.image_files import image_file


@pytest.fixture(autouse=True)
def _media(media: Path) -> None:
    """All tests of images write files."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    return folder


@pytest.fixture
def stocked(folder: Path) -> Path:
    """The folder with one image in it, a.jpg."""
    (folder / "a.jpg").write_bytes(image_file())
    return folder


@pytest.fixture
def manager() -> Any:
    """Somebody, and `project`, which they manage."""
    manager: Any = make_user("mara")
    manager.project = make_project(manager=manager)
    return manager
