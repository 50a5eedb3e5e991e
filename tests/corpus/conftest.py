from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _media(media: Path) -> None:
    """All tests of images write files."""
