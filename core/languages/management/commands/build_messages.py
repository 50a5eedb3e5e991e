"""`manage.py build_messages`: each .mo file of translations that is older than its .po file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polib
from django.core.management.base import BaseCommand

LOCALE = Path(__file__).resolve().parents[4] / "locale"


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


class Command(BaseCommand):
    help = "Build the translations whose files in locale/ have changed."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Built {build_messages()} files of translations.")
