"""What the checks of a text know of its language, and whether it is English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

_WORD = re.compile(r"[^\W\d_]+")
# Frequent in English. "And", "are" and "it" are not here: they are words in Norwegian, Romanian and Turkish.
_ENGLISH_WORDS = frozenset(
    ("the", "you", "your", "that", "this", "which", "with", "from", "they", "their", "what", "when")
)
_ENGLISH_SHARE = 1 / 12


class LanguageTraits(Protocol):
    """What the checks of a caption need to know of its language; a `Language` row has it."""

    @property
    def spaced(self) -> bool:
        """Whether spaces separate words."""

    @property
    def scripts(self) -> Sequence[str]:
        """ISO 15924 codes; empty where the script is not checked."""


def is_english(text: str) -> bool:
    """Whether `text` is mostly in plain Latin letters, with so many small English words that it must be English.

    One such word alone says nothing: it may be part of a name, or Danish, in which *the* is tea.
    """
    words = _WORD.findall(text.lower())
    latin, small = sum(map(str.isascii, words)), [word for word in words if word in _ENGLISH_WORDS]
    return 2 * latin > len(words) and len(set(small)) > 1 and len(small) >= _ENGLISH_SHARE * len(words)
