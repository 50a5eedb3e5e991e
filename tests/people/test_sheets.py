"""Each class that a page uses is in a style sheet that the page links."""

from __future__ import annotations

import re
from pathlib import Path

from core.people.templatetags.sheets import APP_SHEETS
from tests.servers import ROOT

TEMPLATES = ROOT / "templates"
EVERYWHERE = {"base", "components", "tables", "project"}


def classes_of(path: Path, seen: set[Path]) -> set[str]:
    """The classes of a template and of those that it includes by name."""
    if path in seen or not path.exists():
        return set()
    seen.add(path)
    text = path.read_text()
    found = {
        name for names in re.findall(r'class="([^"]*)"', text) for name in re.sub(r"{[%{].*?[%}]}", " ", names).split()
    }
    return found.union(*(classes_of(TEMPLATES / name, seen) for name in re.findall(r'{% include "([^"]+)"', text)))


def test_no_page_lacks_the_sheet_of_a_class_that_it_uses() -> None:
    sheets_of: dict[str, set[str]] = {}
    for path in (ROOT / "static" / "css").glob("*.css"):
        for name in re.findall(r"\.([a-zA-Z][\w-]+)", re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)):
            sheets_of.setdefault(name, set()).add(path.stem)
    lacking = []
    for path in TEMPLATES.glob("*/*.html"):
        text = path.read_text()
        if '{% extends "base.html" %}' in text:
            named = re.findall(r'"(\w+)"', " ".join(re.findall(r"{% sheets ([^%]+)%}", text)))
            linked = EVERYWHERE.union(named, APP_SHEETS.get(path.parent.name, ()))
            lacking += [
                f"{path.relative_to(TEMPLATES)} uses {name}, which is in {sorted(sheets_of[name])}"
                for name in sorted(classes_of(path, set()) & sheets_of.keys())
                if not sheets_of[name] & linked
            ]
    assert lacking == []
