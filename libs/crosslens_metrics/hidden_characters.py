"""Characters of a text that nobody sees: they change its direction, keep words apart that look the same, or carry data.

One rule for captions, references and guesses, wherever they come from.
"""

from __future__ import annotations

import re
import unicodedata

JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner: part of the spelling of Persian, Hindi, Bengali and others, and of emoji."""
MONGOLIAN_SEPARATOR = "\u180e"

# Unicode's Default_Ignorable_Code_Point; controls that are no whitespace; the soft hyphen and annotation marks. The
# visible signs among the format characters, such as those over Arabic numbers, are none of them.
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_RUN = re.compile(
    f"[{_SELECTORS}\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+"
)
_SELECTOR = re.compile(f"[{_SELECTORS}]")
# Arabic, Syriac and other scripts of joined letters, and those of South and South-East Asia.
_JOINED = re.compile(
    "[\u0600-\u0dff\u1000-\u109f\u1780-\u18af\ua840-\ua8ff\ua980-\uaa7f\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010d00-\U00010d3f\U00011000-\U000114df\U0001e900-\U0001e95f]"
)
VIRAMA = 9
"""The combining class of signs that silence a vowel: a joiner after one counts even where a word ends."""


def visible_text(text: str) -> str:
    """`text` without hidden characters.

    A joiner stays between letters of scripts that are spelt with it, and between emoji; a variation selector after a
    character that it can change. Of several in a row one stays.
    """

    def kept(run: re.Match[str]) -> str:
        start, end = run.span()
        return _kept(run[0], text[max(0, start - 1) : start], text[end : end + 1])

    return _RUN.sub(kept, text)


def has_hidden(text: str) -> bool:
    return visible_text(text) != text


def _kept(run: str, last: str, following: str) -> str:
    """What stays of hidden characters between the `last` visible one and the `following` one."""
    if not last or last.isspace():
        return ""
    selector = run[0] if _SELECTOR.match(run) else ""
    joiner = next((character for character in run if character in JOINERS + MONGOLIAN_SEPARATOR), "")
    return selector + (joiner if joiner and _is_joined(last, following, joiner) else "")


def _is_joined(last: str, following: str, joiner: str) -> bool:
    if _is_part_of_word(last):
        return bool(unicodedata.combining(last) == VIRAMA or (following and _is_part_of_word(following)))
    return joiner == "\u200d" and _is_emoji(last) and _is_emoji(following)


def _is_part_of_word(character: str) -> bool:
    return bool(_JOINED.match(character)) and unicodedata.category(character)[0] in "LM"


def _is_emoji(character: str) -> bool:
    return bool(character) and unicodedata.category(character) in ("So", "Sk")
