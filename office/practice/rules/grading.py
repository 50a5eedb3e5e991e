"""Whether an answer to an example is right, and whether a try is passed; from values alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from itertools import takewhile
from math import inf

from crosslens_metrics.text import folded, is_wordy

BETTER, SIMILAR = "better", "similar"


def is_passed(*, right: int, total: int, pass_percent: int) -> bool:
    return right * 100 >= pass_percent * total


def fewest_right(*, total: int, pass_percent: int) -> int:
    """Return the fewest right answers that pass."""
    return -(-pass_percent * total // 100)


def is_right_level(given: str, *, answer: str, also_right: str) -> bool:
    return given in (answer, *filter(None, also_right.split(",")))


def is_right_side(choice: int, *, answer: str, better_is_left: bool) -> bool:
    """`choice` is positive for left better, as in a judgement; how much better does not matter."""
    if answer == SIMILAR:
        return choice == 0
    return choice > 0 if better_is_left else choice < 0


def is_better_left(attempt: int, position: int) -> bool:
    """Return on which side the better caption stands: half of the time either, otherwise in each try."""
    return sha256(f"{attempt}:{position}".encode()).digest()[0] < 128


def unmentioned_words(text: str, mentions: str, *, language: str, spaced: bool) -> list[str]:
    """Return of each line of `mentions` that has no word in `text` the first word, ignoring case.

    In scripts with spaces, a word of `text` has to begin with it, after an article or the like that is written together
    with it. Then comes any ending; none if it has one or two letters, and up to three letters if it has three.
    """
    plain = _folded(text, language)
    lines = [[word.strip() for word in line.split("|") if word.strip()] for line in mentions.splitlines()]
    return [
        words[0]
        for words in lines
        if words and not any(_is_mentioned(plain, _folded(word, language), language, spaced=spaced) for word in words)
    ]


_PREFIXES = {"ar": re.compile("[وف]?(?:[بكل]?(?:ال)?|لل)"), "he": re.compile("[והבכלמש]{0,3}")}
_NO_PREFIX = re.compile("")


def _is_mentioned(text: str, word: str, language: str, *, spaced: bool) -> bool:
    if not spaced:
        return word in text
    prefix = _PREFIXES.get(language.partition("-")[0], _NO_PREFIX)
    longest = {1: 0, 2: 0, 3: 3}.get(_letters(word), inf)
    return any(
        prefix.fullmatch(_run(reversed(text[: found.start()]))[::-1]) and _letters(_run(text[found.end() :])) <= longest
        for found in re.finditer(re.escape(word), text)
    )


def _run(characters: Iterable[str]) -> str:
    return "".join(takewhile(is_wordy, characters))


def _letters(word: str) -> int:
    """Count letters: of a syllable of Korean each, of accents and viramas none."""
    return sum(not unicodedata.combining(character) for character in unicodedata.normalize("NFD", word))


def _folded(text: str, language: str) -> str:
    return " ".join(folded(text, language=language).split())
