"""The guidelines that a new project begins with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.utils import translation

from annotation.models import Rating


class GuidelineTexts(NamedTuple):
    """Both in Markdown."""

    rating: str
    writing: str


def guidelines() -> GuidelineTexts:
    """Version 1 of a project's guidelines, in English."""
    return GuidelineTexts(_text("rating.en.md"), _text("writing.en.md"))


def _text(name: str) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    with translation.override("en"):
        return text.format_map({level.name: level.label for level in Rating})
