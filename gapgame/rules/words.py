"""Finding a word in a text, in any script, and words in the text that give it away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

SHORTEST_STEM = 4
"""(ours) How many first characters two words share to be taken for forms of one word."""

SHORTEST_PART = 3
"""(ours) A shorter word is not searched inside others: too many contain it by chance."""

JOINERS = "\u200c\u200d"
"""Zero-width characters inside words, as in Persian."""

# Vowel points, harakat and the tatweel are optional; the word is the same.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)


def folded(text: str) -> str:
    """Normalise the spelling of a word: NFKC, case folded, without vowel points."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _POINTS.sub("", text)


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
    return not _is_wordy(text[start - 1 : start] if start else "") and not _is_wordy(following)


def stands_in(text: str, word: str, *, spaced: bool) -> bool:
    """Return whether `word` is in `text`, also in another spelling."""
    return bool(occurrences(folded(text), folded(word), spaced=spaced))


def stem_in(text: str, word: str, *, spaced: bool) -> bool:
    """Return whether a word of `text` contains `word`, is part of it, or begins like it, giving it away (ours)."""
    if not spaced:
        return False  # any part of the text that equals the word is an occurrence there
    wanted = folded(word)
    return any(_is_akin(wanted, other) for other in words_of(folded(text)))


def words_of(text: str) -> Iterator[str]:
    """Return the runs of letters, marks and digits."""
    run = ""
    for character in text:
        if _is_wordy(character):
            run += character
        elif run:
            yield run
            run = ""
    if run:
        yield run


def is_named_in(text: str, word: str) -> bool:
    """Return whether `text`, such as a file name or a title, contains `word`, inside other words too."""
    wanted = folded(word)
    joined = folded(re.sub(r"[\W_]+", " ", text))
    plain = folded(re.sub(r"[\W_]+", " ", word))
    if len(wanted) < SHORTEST_PART and wanted.isascii():
        return wanted in words_of(folded(text)) or plain in joined.split()
    return wanted in folded(text) or (bool(plain.strip()) and plain in joined)


def _is_akin(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) >= SHORTEST_PART and shorter in longer and (shorter == word or longer.startswith(shorter)):
        return True
    common = next((place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(shorter))
    return common >= max(SHORTEST_STEM, 3 * len(longer) / 5)


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("M")


def _is_wordy(character: str) -> bool:
    return bool(character) and (unicodedata.category(character)[0] in "LMN" or character in JOINERS)
