"""What a pivot-stabilised model writes: an English stabiliser, a separator that names the language, the caption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def separators_of(options: Mapping[str, Any], codes: Mapping[str, str]) -> dict[str, str]:
    """The separator of each language, by our tag: as `options` have it, or ` <code> ` with the model's own code."""
    separators = options.get("separators") or {}
    return {tag: str(separators.get(tag) or f" <{code}> ") for tag, code in codes.items()}


def split(output: str, separator: str) -> tuple[str, str] | None:
    """Stabiliser and caption, without blanks around them; None where one of them is not there.

    The first separator parts them: a caption may hold what looks like another.
    """
    before, match, after = output.partition(separator)
    if not match:
        # Tokenisers put blanks around what they decode, or take them away.
        before, match, after = output.partition(separator.strip())
    stabiliser, caption = before.strip(), after.strip()
    return (stabiliser, caption) if match and stabiliser and caption else None
