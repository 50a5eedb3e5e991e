"""Find a word in a text, in any script and spelling."""

from __future__ import annotations

import re
import unicodedata

from crosslens_metrics.hidden_characters import JOINERS
from crosslens_metrics.text import lower_case

# Vowel points, harakat and the tatweel are optional; the word is the same.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)


def folded(text: str, *, language: str = "") -> str:
    """Normalise the spelling of a word: NFKC, case folded as its language writes, without vowel points."""
    small = lower_case(unicodedata.normalize("NFKC", text), language=language)
    return _POINTS.sub("", unicodedata.normalize("NFKC", small.casefold()))


def occurrences(text: str, word: str, *, spaced: bool) -> list[tuple[int, int]]:
    """Find `word` in `text` as a whole word, ignoring case, as (start, end).

    In scripts with spaces, no letter, mark or digit may touch it. In others (ja, zh, th) any position counts that is
    not followed by a mark, since nothing shows where a word ends.
    """
    spans = (match.span() for match in re.finditer(re.escape(word), text, re.IGNORECASE))
    return [span for span in spans if _is_apart(text, *span, spaced=spaced)]


def _is_apart(text: str, start: int, end: int, *, spaced: bool) -> bool:
    following = text[end : end + 1]
    if not spaced:
        return not _is_mark(following)
    return not is_wordy(text[start - 1 : start] if start else "") and not is_wordy(following)


def stands_in(text: str, word: str, *, spaced: bool, language: str = "") -> bool:
    """Return whether `word` is in `text`, also in another spelling."""
    return bool(occurrences(folded(text, language=language), folded(word, language=language), spaced=spaced))


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("M")


def is_wordy(character: str) -> bool:
    """Return whether a character is part of a word: a letter, a mark, a digit or a joiner."""
    return bool(character) and (unicodedata.category(character)[0] in "LMN" or character in JOINERS)
