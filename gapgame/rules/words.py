"""Words in a text, or in a name, that give a word away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosslens_metrics.text import folded, is_wordy

MIN_STEM_CHARACTERS = 4
"""(ours) How many first characters two words share to be taken for forms of one word."""

MIN_PART_CHARACTERS = 3
"""(ours) A shorter word is not searched inside others: too many contain it by chance."""


def stem_in(text: str, word: str, *, spaced: bool, language: str = "") -> bool:
    """Return whether a word of `text` contains `word`, is part of it, or begins like it, giving it away (ours)."""
    if not spaced:
        return False  # any part of the text that equals the word is an occurrence there
    wanted = folded(word, language=language)
    return any(_is_akin(wanted, other) for other in words_of(folded(text, language=language)))


def words_of(text: str) -> Iterator[str]:
    """Return the runs of letters, marks and digits."""
    run = ""
    for character in text:
        if is_wordy(character):
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
    if len(wanted) < MIN_PART_CHARACTERS and wanted.isascii():
        return wanted in words_of(folded(text)) or plain in joined.split()
    return wanted in folded(text) or (bool(plain.strip()) and plain in joined)


def _is_akin(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) >= MIN_PART_CHARACTERS and shorter in longer and (shorter == word or longer.startswith(shorter)):
        return True
    common = next((place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(shorter))
    return common >= max(MIN_STEM_CHARACTERS, 3 * len(longer) / 5)
