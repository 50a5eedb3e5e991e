"""Split what a pivot-stabilised model writes: English stabiliser, separator that names the language, caption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def separators_of(options: Mapping[str, Any], codes: Mapping[str, str]) -> dict[str, str]:
    """Return the separator of each language, by our tag: from `options`, or ` <code> ` with the model's own code."""
    separators = options.get("separators") or {}
    return {tag: str(separators.get(tag) or f" <{code}> ") for tag, code in codes.items()}


def split(output: str, separator: str) -> tuple[str, str] | None:
    """Split stabiliser and caption, without blanks around them; None if one is missing.

    The first separator parts them: a caption may hold what looks like another.
    """
    before, match, after = output.partition(separator)
    if not match:
        # Tokenisers put blanks around what they decode, or take them away.
        before, match, after = output.partition(separator.strip())
    stabiliser, caption = before.strip(), after.strip()
    return (stabiliser, caption) if match and stabiliser and caption else None
