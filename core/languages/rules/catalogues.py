"""Translations as programs read them: each .mo file is built from its .po file."""

from __future__ import annotations

from pathlib import Path

import polib

LOCALE = Path(__file__).resolve().parents[3] / "locale"


def build_messages() -> int:
    """Build what is missing or stale; how many files that were."""
    stale = [path for path in LOCALE.rglob("*.po") if is_stale(path)]
    for path in stale:
        new = path.with_suffix(".mo.new")
        polib.pofile(str(path)).save_as_mofile(str(new))
        new.replace(path.with_suffix(".mo"))
    return len(stale)


def is_stale(path: Path) -> bool:
    built = path.with_suffix(".mo")
    return not built.exists() or built.stat().st_mtime < path.stat().st_mtime
