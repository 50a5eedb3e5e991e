"""Whether an answer to an example is right, and whether a try is passed; from values alone."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

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


def unmentioned_words(text: str, mentions: str) -> list[str]:
    """Return of each line of `mentions` that has no word in `text` the first word, ignoring case."""
    plain = _folded(text)
    lines = [[word.strip() for word in line.split("|") if word.strip()] for line in mentions.splitlines()]
    return [words[0] for words in lines if words and not any(_folded(word) in plain for word in words)]


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
