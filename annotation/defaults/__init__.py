"""The guidelines that a new project begins with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class GuidelineTexts(NamedTuple):
    """Both in Markdown."""

    rating: str
    writing: str


def guidelines() -> GuidelineTexts:
    """Version 1 of a project's guidelines."""
    return GuidelineTexts(_text("rating.en.md"), _text("writing.en.md"))


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
