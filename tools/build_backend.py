"""Builds the wheel: setuptools, with the translations built and the commit noted (pyproject.toml says what goes in).

pip runs it in the root of the checkout, where the packages that the platform needs are not installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - what pip calls besides

NOTED = Path("COMMIT")
"""Where `config.version` finds the commit when there is no checkout."""


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel, and return its name."""
    sys.path.insert(0, str(Path.cwd()))
    from core.languages.rules.catalogues import build_messages

    build_messages()
    # setuptools would take in what it copied there before, also what has been deleted since.
    shutil.rmtree("build", ignore_errors=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    is_new = not NOTED.exists()
    if is_new:
        NOTED.write_text(commit, encoding="utf-8")
    try:
        built: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        if is_new:
            NOTED.unlink()
    return built
