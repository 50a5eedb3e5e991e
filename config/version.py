"""The version of the code."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path

UNKNOWN = "unknown"


@lru_cache(maxsize=1)
def code_version(checkout: Path) -> str:
    """Return the commit: noted in the image when it was built, or that of the checkout."""
    noted = checkout / "COMMIT"
    if noted.is_file():
        return noted.read_text(encoding="utf-8").strip() or UNKNOWN
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
