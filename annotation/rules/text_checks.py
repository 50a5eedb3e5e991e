"""Rules for texts and levels: what the levels mean, what can be a caption, and what a writer is warned about."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.languages.rules.scripts import KNOWN_SCRIPTS, LanguageTraits, script_of
from crosslens_metrics.hidden_characters import has_hidden, visible_text

# (ours) The published protocol names no numbers for these.
MAX_CAPTION_CHARACTERS = 1000
"""Code points in NFC, trimmed."""
MAX_DRAFT_CHARACTERS = 10_000
"""Code points: the longest draft that is kept, far above the longest caption that can be submitted."""
MIN_WORDS = 3
MIN_CHARACTERS_UNSPACED = 5
"""The fewest letters and digits, for scripts that do not separate words by spaces. 2% of the published Chinese
captions have fewer."""
MAX_FOREIGN_SHARE = 2 / 3
"""The largest share of letters in another script. Captions quote signs and brands: 0.4% of the published Thai
captions have more than half, 0.07% more than this, and none in the five other languages tried."""
NEAR_IDENTICAL = 0.8
"""Similarity to the English caption. Two people who each describe the same image in English reach it in 1% of cases."""

LEVEL_GUIDANCE: dict[str, Promise] = {
    "EXCELLENT": _("The whole image is covered well: a friend who cannot see it would know what is there."),
    "GOOD": _("Most of the main objects and activities, and how they relate, are described."),
    "MEDIUM": _("Some objects and activities are described, but crucial information is missing."),
    "BAD": _("Misses the main topic, has major grammatical errors, or names things that are definitely not there."),
    "NOT-ENOUGH-INFO": _(
        "Cannot be judged. Avoid where possible; let missing information count in the caption's favour."
    ),
}

# One of these says as much as several Latin letters: otherwise a brand's name weighs too much in a short sentence.
LETTERS_WORTH = {"Hani": 3, "Hang": 2, "Hira": 2, "Kana": 2}
_MAX_DECOMPOSITION = 4
"""How many code points NFC can make of one: longer texts are refused without being normalised."""
# Letters, marks and signs by category that show nothing: fillers, the grapheme joiner, the blank of braille.
_DRAWN_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


@dataclass(frozen=True)
class CaptionFault:
    code: str
    message: str | Promise


COPIED = CaptionFault("copied", _("This is almost the same as what was shown on the first screen. Use your own words."))
WARNINGS = ("script", "short", "repeated", "hidden", COPIED.code)
"""The codes of faults with which somebody may submit all the same."""


def as_nfc(text: str) -> str:
    """Return the text with accents and syllables composed as in Unicode's NFC, untrimmed."""
    return unicodedata.normalize("NFC", text)


def as_stored(text: str) -> str:
    """Return the text as captions are stored: without hidden characters, in NFC, trimmed."""
    return as_nfc(visible_text(text)).strip()


def unstorable(text: str) -> CaptionFault | None:
    """Return why `text` cannot even be a draft, or None."""
    if len(text) > MAX_DRAFT_CHARACTERS:
        return CaptionFault(
            "too-long", _("This is far too long for a caption: you can submit at most 1,000 characters.")
        )
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        return CaptionFault(
            "broken", _("This has broken characters (a NUL or half of a surrogate pair). Type it again.")
        )
    return None


def hard_error(text: str) -> CaptionFault | None:
    """Return why `text` cannot be submitted as a caption, or None. Its length is in code points, trimmed, in NFC."""
    if problem := unstorable(text):
        return problem
    trimmed = text.strip()
    if not trimmed:
        return CaptionFault("empty", _("This is empty. Write a caption."))
    if len(trimmed) > MAX_CAPTION_CHARACTERS * _MAX_DECOMPOSITION or len(as_stored(trimmed)) > MAX_CAPTION_CHARACTERS:
        return CaptionFault("too-long", _("This is too long: you can submit at most 1,000 characters."))
    if all(_is_blank(character) for character in trimmed):
        return CaptionFault("invisible", _("This has only spaces or control characters. Write a caption."))
    return None


def soft_warnings(text: str, *, language: LanguageTraits, others: Iterable[str]) -> list[CaptionFault]:
    """Return what the writer may want to look at again. `others` are the writer's other captions."""
    if hard_error(text):
        return []
    warnings = []
    if is_mostly_foreign(text, language):
        warnings.append(
            CaptionFault("script", _("Most of this is not in the script of the language. Is it the right language?"))
        )
    if language.spaced and sum(any(map(str.isalnum, piece)) for piece in text.split()) < MIN_WORDS:
        warnings.append(
            CaptionFault("short", _("This has fewer than three words. Would it help a friend who cannot see?"))
        )
    elif not language.spaced and sum(map(str.isalnum, text)) < MIN_CHARACTERS_UNSPACED:
        warnings.append(CaptionFault("short", _("This is very short. Would it help a friend who cannot see?")))
    folded = _folded(text)
    if folded and any(folded == _folded(other) for other in others):
        warnings.append(CaptionFault("repeated", _("You wrote the same text for another image in this batch.")))
    if has_hidden(text):
        warnings.append(CaptionFault("hidden", _("This has invisible characters. They will be removed.")))
    return warnings


def is_copied(text: str, english: str) -> bool:
    """Return whether a caption is almost the one of screen 1.

    Asking this for one text after another would reveal that caption. So it is answered only once, for all captions of a
    batch, when they are submitted (`annotation/services/batches.py`).
    """
    return not hard_error(text) and trigram_similarity(text, english) >= NEAR_IDENTICAL


def trigram_similarity(text: str, other: str) -> float:
    """Return the Dice coefficient of the character trigrams of two texts, from 0 to 1, ignoring case and punctuation.

    A typo, an inserted word or two swapped halves leave most trigrams unchanged.
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


def is_mostly_foreign(text: str, language: LanguageTraits) -> bool:
    """Return whether most letters are of scripts in which `language` is not written, if all of its own are known."""
    scripts = frozenset(language.scripts)
    if not scripts or not scripts <= KNOWN_SCRIPTS:
        return False
    own = foreign = 0
    for script in map(script_of, text):
        if script in scripts:
            own += LETTERS_WORTH.get(script, 1)
        elif script:
            foreign += LETTERS_WORTH.get(script, 1)
    return foreign > MAX_FOREIGN_SHARE * (own + foreign)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    """Return the words without case, punctuation or differences of encoding, which a reader does not see."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(map(_letter_or_space, folded)).split())


@lru_cache(maxsize=20_000)
def _letter_or_space(character: str) -> str:
    return character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "


@lru_cache(maxsize=4096)
def _runs_of_three(folded: str) -> Counter[str]:
    padded = f" {folded} " if folded else ""
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))
