"""Texts that a new project begins with."""

from pathlib import Path

# The placeholders of the default text begin with this.
GAP = "[The manager of the project"


def consent_text() -> str:
    """The first consent text of a project, in Markdown; its manager replaces what is in brackets."""
    return Path(__file__).with_name("consent.en.md").read_text(encoding="utf-8")
