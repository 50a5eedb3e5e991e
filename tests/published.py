"""What others have published, as files beside the checkout. Tests that read them are skipped where nobody put them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers import ROOT

DATA = ROOT.parent / "shared" / "data"


def published(name: str) -> Path:
    """Where the file or folder is."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not among the published data here")
    return path
