"""Which illustrated words the Gap Filling Game can ask for: the rules of its items, for English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from crosslens_metrics.words_in_text import occurrences, stands_in

MAX_SENTENCE_CHARACTERS, MAX_WORD_CHARACTERS, MAX_SENSES = 500, 100, 100
"""The game's limits, in characters and synsets."""

NO_GAP = frozenset({"blank", "joined"})
"""Reasons for which no task for machines can cut the word out of its sentence, either."""

REASONS = (
    *("blank", "joined", "long_sentence", "long_word", "many_senses", "direction", "alone", "repeated"),
    "same_sentence",
)

_BLANK = re.compile("_{3,}")
_TURNERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def why_unplayable(sentence: str, word: str, start: int, senses: Sequence[str], *, occurrence: int = 1) -> str:
    """Return the first of `REASONS` why a word cannot be asked for, or an empty text.

    Parameters
    ----------
    sentence, word : str
        In Unicode's form NFC.
    start : int
        Where the word begins, in characters.
    senses : sequence of str
        Its synsets.
    occurrence : int
        How often the sentence has come by now: no player should meet it twice.
    """
    before, after = sentence[:start], sentence[start + len(word) :]
    faults = {
        "blank": lambda: _BLANK.search(sentence),
        "joined": lambda: (start, start + len(word)) not in occurrences(sentence, word, spaced=True),
        "long_sentence": lambda: len(sentence) > MAX_SENTENCE_CHARACTERS,
        "long_word": lambda: len(word) > MAX_WORD_CHARACTERS,
        "many_senses": lambda: len(senses) > MAX_SENSES,
        "direction": lambda: _TURNERS.search(sentence),
        "alone": lambda: not any(unicodedata.category(character)[0] in "LN" for character in before + after),
        "same_sentence": lambda: occurrence > 1,
        "repeated": lambda: stands_in(before, word, spaced=True) or stands_in(after, word, spaced=True),
    }
    return next((reason for reason in REASONS if faults[reason]()), "")
