"""Decisions from values alone: what the levels mean, what can be a caption, and what a writer is warned of."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from languages.rules.scripts import KNOWN_SCRIPTS, script_of
from languages.rules.traits import LanguageTraits

# (ours) The published protocol names no numbers for these.
LONGEST_CAPTION = 1000
"""Code points in NFC, trimmed."""
LONGEST_DRAFT = 10_000
"""Code points: what is kept of a text in the making, far above what can be handed in."""
FEWEST_WORDS = 3
FEWEST_CHARACTERS_UNSPACED = 5
"""Of letters and digits, where spaces do not separate words. Of the published Chinese captions 2% have fewer."""
LARGEST_FOREIGN_SHARE = 2 / 3
"""Of the letters. Captions quote signs and brands in other scripts: 0.4% of the published Thai ones by more than half,
0.07% by more than this, and none of those in the five other languages tried."""
NEAR_IDENTICAL = 0.8
"""Likeness to the English caption. Two people who each describe the same image in English reach it in 1% of cases."""

LEVEL_GUIDANCE: dict[str, Promise] = {
    "EXCELLENT": _("The whole image is covered well: a friend who cannot see it would know what is there."),
    "GOOD": _("Most of the main objects and activities, and how they relate, are described."),
    "MEDIUM": _("Some objects and activities are described, but crucial information is missing."),
    "BAD": _("Misses the main topic, has major grammatical errors, or names things that are definitely not there."),
    "NOT-ENOUGH-INFO": _(
        "Cannot be judged. Avoid where possible; let missing information count in the caption's favour."
    ),
}

# One of these says as much as so many Latin letters: a brand's name weighs too heavily in a short sentence else.
_LETTERS_WORTH = {"Hani": 3, "Hang": 2, "Hira": 2, "Kana": 2}
_LONGEST_DECOMPOSITION = 4
"""Code points that NFC can make one of: what is longer by this factor need not be normalised to be refused."""
# Letters, marks and signs by category, yet nothing is drawn: fillers, the joiner of graphemes, the blank of braille.
_DRAWN_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


@dataclass(frozen=True)
class CaptionFault:
    code: str
    message: str | Promise


COPIED = CaptionFault("copied", _("This is almost the same as what was shown on the first screen. Use your own words."))


def as_nfc(text: str) -> str:
    """The same text with accents and syllables composed as Unicode has them composed; nothing is trimmed."""
    return unicodedata.normalize("NFC", text)


def unstorable(text: str) -> CaptionFault | None:
    """What not even a draft may hold."""
    if len(text) > LONGEST_DRAFT:
        return CaptionFault(
            "too-long", _("This is far too long for a caption: you can submit at most 1,000 characters.")
        )
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        return CaptionFault(
            "broken", _("This has broken characters (a NUL or half of a surrogate pair). Type it again.")
        )
    return None


def hard_error(text: str) -> CaptionFault | None:
    """Why `text` cannot be handed in as a caption, or None. Its length is counted in code points, trimmed, in NFC."""
    if problem := unstorable(text):
        return problem
    trimmed = text.strip()
    if not trimmed:
        return CaptionFault("empty", _("This is empty. Write a caption."))
    if len(trimmed) > LONGEST_CAPTION * _LONGEST_DECOMPOSITION or len(as_nfc(trimmed)) > LONGEST_CAPTION:
        return CaptionFault("too-long", _("This is too long: you can submit at most 1,000 characters."))
    if all(_is_blank(character) for character in trimmed):
        return CaptionFault("invisible", _("This has only spaces or control characters. Write a caption."))
    return None


def soft_warnings(text: str, *, language: LanguageTraits, others: Iterable[str]) -> list[CaptionFault]:
    """What a writer may want to look at again; the writer decides. `others` are the writer's other captions."""
    if hard_error(text):
        return []
    warnings = []
    if _is_mostly_foreign(text, frozenset(language.scripts)):
        warnings.append(
            CaptionFault("script", _("Most of this is not in the script of the language. Is it the right language?"))
        )
    if language.spaced and sum(any(map(str.isalnum, piece)) for piece in text.split()) < FEWEST_WORDS:
        warnings.append(
            CaptionFault("short", _("This has fewer than three words. Would it help a friend who cannot see?"))
        )
    elif not language.spaced and sum(map(str.isalnum, text)) < FEWEST_CHARACTERS_UNSPACED:
        warnings.append(CaptionFault("short", _("This is very short. Would it help a friend who cannot see?")))
    folded = _folded(text)
    if folded and any(folded == _folded(other) for other in others):
        warnings.append(CaptionFault("repeated", _("You wrote the same text for another image in this batch.")))
    return warnings


def is_copied(text: str, english: str) -> bool:
    """Whether a caption is almost the one of screen 1.

    Who could ask this of text after text would find out by trying what that caption said. It is answered once for the
    captions of a batch, when they are handed in (`annotation/services/batches.py`).
    """
    return not hard_error(text) and likeness(text, english) >= NEAR_IDENTICAL


def likeness(text: str, other: str) -> float:
    """Dice coefficient of the runs of three characters in two texts, from 0 to 1; case and punctuation are left out.

    A slip of the pen, a word put in and two halves swapped all leave most runs as they are.
    """
    ours, theirs = _runs_of_three(_folded(text)), _runs_of_three(_folded(other))
    together = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / together if together else 0.0


def _is_blank(character: str) -> bool:
    return (
        unicodedata.category(character) in _BLANK_CATEGORIES
        or character in _DRAWN_BLANK
        or "\ufe00" <= character <= "\ufe0f"  # variation selectors
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _is_mostly_foreign(text: str, scripts: frozenset[str]) -> bool:
    if not scripts or not scripts <= KNOWN_SCRIPTS:
        return False
    own = foreign = 0
    for script in map(script_of, text):
        if script in scripts:
            own += _LETTERS_WORTH.get(script, 1)
        elif script:
            foreign += _LETTERS_WORTH.get(script, 1)
    return foreign > LARGEST_FOREIGN_SHARE * (own + foreign)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    """Words without case, punctuation or the choice of code points: the same to a reader, the same here."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(map(_letter_or_space, folded)).split())


@lru_cache(maxsize=20_000)
def _letter_or_space(character: str) -> str:
    return character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "


@lru_cache(maxsize=4096)
def _runs_of_three(folded: str) -> Counter[str]:
    padded = f" {folded} " if folded else ""
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))
