"""What changed between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

UNCHANGED, ADDED, REMOVED = "same", "added", "removed"

Replaced = Callable[[str, str], "Iterator[tuple[str, str]]"]


@dataclass(frozen=True)
class TextPiece:
    kind: str
    text: str


def word_diff(before: str, after: str) -> list[TextPiece]:
    """Return `after` with what was added and what was removed since `before`; the pieces make up both texts.

    Lines are compared first, and words only where lines differ: the time grows with the square of the length.
    """
    pieces: list[TextPiece] = []
    for kind, text in _pieces(before.splitlines(keepends=True), after.splitlines(keepends=True), _words):
        if pieces and pieces[-1].kind == kind:
            pieces[-1] = TextPiece(kind, pieces[-1].text + text)
        elif text:
            pieces.append(TextPiece(kind, text))
    return pieces


def _words(before: str, after: str) -> Iterator[tuple[str, str]]:
    return _pieces(re.findall(r"\s+|\S+", before), re.findall(r"\s+|\S+", after), _as_they_are)


def _as_they_are(before: str, after: str) -> Iterator[tuple[str, str]]:
    yield REMOVED, before
    yield ADDED, after


def _pieces(before: Sequence[str], after: Sequence[str], replaced: Replaced) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for what, from_before, to_before, from_after, to_after in matcher.get_opcodes():
        old, new = "".join(before[from_before:to_before]), "".join(after[from_after:to_after])
        if what == "equal":
            yield UNCHANGED, new
        else:
            yield from replaced(old, new)
