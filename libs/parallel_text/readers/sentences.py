"""Bring sentences into the one form in which they are compared, and refuse what is none."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import normalize

from crosslens_metrics.messages import gettext as _

MAX_SENTENCE_CHARACTERS = 1_000
"""Longer than any sentence that a reader of a game or an aligner can use; subtitles seldom pass 100."""

BROKEN = "\ufffd"
"""What other programs put in place of characters that they could not read."""

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
INVISIBLE = dict.fromkeys(
    (0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF)
)
"""Hyphens and marks of direction that show nothing, which would make two words of one."""


class SentencePair(NamedTuple):
    """An English sentence and its translation.

    `line` of `file` is where they stand, and `number` counts the English sentences of that file. `id` is how the source
    names the English one; empty if it does not.
    """

    english: str
    other: str
    file: str
    line: int
    number: int
    id: str = ""


class BadSentenceError(ValueError):
    """A sentence cannot be used; `kind` is the problem's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def clean(text: str) -> str:
    """Bring a sentence into Unicode's form NFC, with single spaces between its words and none around them.

    Raises
    ------
    BadSentenceError
        Where it is too long, or holds control characters or marks of broken ones.
    """
    if len(text) > MAX_SENTENCE_CHARACTERS:
        message = _("A sentence has more than %(limit)s characters. Split it into sentences.")
        raise BadSentenceError("too_long", message % {"limit": MAX_SENTENCE_CHARACTERS})
    sentence = " ".join(normalize("NFC", text).split())
    if sentence.isprintable():
        if BROKEN in sentence:
            raise BadSentenceError("bad_encoding", _("It holds broken characters (�). Fix its encoding."))
        return sentence
    if CONTROLS.search(sentence):
        raise BadSentenceError("control_characters", _("It holds control characters, which no text has. Remove them."))
    return " ".join(sentence.translate(INVISIBLE).split())
