"""Instructions for the raters of a new project."""

from __future__ import annotations

from pathlib import Path


def instructions() -> str:
    """Version 1 of a project's instructions for raters, in Markdown."""
    return Path(__file__).with_name("instructions.en.md").read_text(encoding="utf-8")
