"""Files of the checkout that tests read."""

from __future__ import annotations

from pathlib import Path

from tests.servers import ROOT

PRODUCT = (
    "allocation", "annotation", "charts", "config", "corpora", "crosslens_metrics", "dashboard", "demo", "gapgame",
    "geography", "images", "inference", "languages", "operations", "parallel_text", "people", "practice", "recruitment",
    "scoring", "sxs_eval", "tabular",
)  # fmt: skip


def files_in(*folders: str, endings: tuple[str, ...] = (".py",)) -> list[Path]:
    """All files with these endings; a folder without one has another name by now, and a test of it would prove nothing.

    Raises
    ------
    AssertionError
    """
    found = []
    for folder in folders:
        files = sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)
        assert files, f"{folder} has no files that end in {' or '.join(endings)}"
        found += files
    return found
