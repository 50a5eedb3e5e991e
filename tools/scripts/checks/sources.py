"""Files of the checkout that checks and tests read, and what a check finds in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from django.apps import AppConfig, apps

from config import ROOT

WINGS = ("core", "libs", "office", "research")
PRODUCT = (
    *("annotation", "config", "gapgame", "sxs_eval", "tools/demo"),
    *(f"{wing}/{path.parent.name}" for wing in WINGS for path in sorted((ROOT / wing).glob("*/__init__.py"))),
)
TEXTS: dict[Path, str] = {}
"""What was read. Tests of checks put bad examples here."""
Place = int | str | re.Match[str]


class TextFinding(NamedTuple):
    """`wrong` says what is wrong, `do` how to correct it."""

    path: str
    line: int
    wrong: str
    do: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.wrong}: {self.do}"


def own_apps() -> list[AppConfig]:
    """The platform's own of the apps that are installed."""
    return [one for one in apps.get_app_configs() if (ROOT / one.name.replace(".", "/")).is_dir()]


def files_in(*folders: str, endings: tuple[str, ...] = (".py",)) -> list[Path]:
    """All files with these endings. Without any, a folder has another name by now, and checking it proves nothing.

    Raises AssertionError.
    """
    found = []
    for folder in folders:
        files = sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)
        assert files, f"{folder} has no files that end in {' or '.join(endings)}"
        found += files
    return found


def text_of(path: Path | str) -> str:
    """The text of a file, by its path from the root or an absolute one."""
    path = ROOT / path
    if path not in TEXTS:
        TEXTS[path] = path.read_text(encoding="utf-8")
    return TEXTS[path]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def without(pattern: str, text: str) -> str:
    """`text` without what matches, with as many lines."""
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)


def at(path: Path | str, where: Place, wrong: str, do: str) -> TextFinding:
    """A finding in a line, at a match, or where a text first stands; in the first line if it stands nowhere."""
    if isinstance(where, str):
        # A file may break its lines within it.
        where = re.search(r"\s+".join(map(re.escape, where.split()[:6])), text_of(path)) or 1
    if isinstance(where, re.Match):
        where = line_at(where.string, where.start())
    return TextFinding(name_of(ROOT / path), where, wrong, do)


def unless(holds: object, path: Path | str, where: Place, wrong: str, do: str) -> list[TextFinding]:
    return [] if holds else [at(path, where, wrong, do)]


def quoted(names: Iterable[object]) -> str:
    return ", ".join(f"“{name}”" for name in names)
