"""Tell whether a file's tag of a language is the one that is looked for."""

from __future__ import annotations


def is_of(tag: str, language: str) -> bool:
    """Return whether `tag` is `language` or one of its regions: en-US and en_GB are en."""
    tag, language = tag.replace("_", "-").lower(), language.lower()
    return tag == language or tag.startswith(f"{language}-")
