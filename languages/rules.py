"""What scripts and languages look like in text. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

_SCRIPT = re.compile(r"[A-Z][a-z]{3}")
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


class MalformedScriptError(ValueError):
    """Says what was given, and what a script code looks like."""


def canonical_script(code: str) -> str:
    """An ISO 15924 code in its usual case: `latn` is `Latn`.

    Raises
    ------
    MalformedScriptError
        For anything but four letters.
    """
    cased = code.strip().capitalize()
    if not _SCRIPT.fullmatch(cased):
        raise MalformedScriptError(f"{code!r} is not a script; write its ISO 15924 code, four letters such as Latn.")
    return cased


def script_of_tag(canonical: str) -> str | None:
    """The script that a canonical tag names, if it does: `Cyrl` of `sr-Cyrl-RS`."""
    for part in canonical.split("-")[1:]:
        if len(part) == 1:
            return None
        if _SCRIPT.fullmatch(part):
            return part
    return None


def is_english(text: str) -> bool:
    """Whether `text` is mostly in plain Latin letters, with so many small English words that it must be English.

    One such word alone says nothing: it may be part of a name, or Danish, in which *the* is tea.
    """
    words = _WORD.findall(text.lower())
    latin, small = sum(map(str.isascii, words)), [word for word in words if word in _ENGLISH_WORDS]
    return 2 * latin > len(words) and len(set(small)) > 1 and len(small) >= _ENGLISH_SHARE * len(words)
