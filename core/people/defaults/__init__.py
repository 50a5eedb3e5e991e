"""Texts that a new project begins with, in the languages that they are written in: KIND.TAG.md, in Markdown."""

from functools import cache
from pathlib import Path

LICENCE = "CC BY 4.0"
"""Of what people write, unless a manager names another."""
# The placeholders of the consent text that older projects began with.
GAP = "[The manager of the project"
WRITING_MARKS = (
    "How many characters of a caption you pasted, and the longest time "
    "that its page was out of sight while you wrote it."
)
"""What a consent text says, in English, where these are noted. Without it they are not."""


@cache
def default_text(kind: str, tag: str = "en") -> str:
    """Return the text that projects begin with; empty where it is not written in that language.

    Of a kind such as practice-rating it is one part of a file, under a heading of its name.
    What is in braces stays: `core.people.selectors.texts` fills it in.
    """
    name, _dash, part = kind.partition("-")
    path = Path(__file__).with_name(f"{name}.{tag}.md")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text.partition(f"# {part}\n\n")[2].partition("\n# ")[0] if part else text
