"""Decisions from values alone: what the levels mean, what can be a caption, and what a writer is warned of."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from languages.rules import LanguageTraits

# (ours) The published protocol names no numbers for these.
LONGEST_CAPTION = 1000
"""Code points in NFC, trimmed."""
LONGEST_DRAFT = 10_000
"""Code points: what is kept of a text in the making, far above what can be handed in."""
FEWEST_WORDS = 3
FEWEST_CHARACTERS_UNSPACED = 6
"""Of letters and digits, where spaces do not separate words."""
LARGEST_FOREIGN_SHARE = 0.5
"""Of the letters; names and brands in another script are common, a whole sentence is not."""
NEAR_IDENTICAL = 0.9
"""Ratcliff–Obershelp similarity of case-folded words, 1 being equal."""

LEVEL_GUIDANCE: dict[str, Promise] = {
    "EXCELLENT": _("The whole picture is covered well: a friend who cannot see it would know what is there."),
    "GOOD": _("Most of the main objects and activities, and how they relate, are there."),
    "MEDIUM": _("Some objects and activities are there, but crucial information is missing."),
    "BAD": _("Misses the main topic, is badly wrong in its grammar, or names what is certainly not there."),
    "NOT-ENOUGH-INFO": _("Cannot be judged. Avoid where possible; let missing information count in the caption's favour."),
}

# The first word of a character's Unicode name tells its script well enough for a warning; codes are ISO 15924.
_SCRIPT_OF_NAME = {
    "LATIN": "Latn",
    "CYRILLIC": "Cyrl",
    "GREEK": "Grek",
    "ARABIC": "Arab",
    "HEBREW": "Hebr",
    "DEVANAGARI": "Deva",
    "BENGALI": "Beng",
    "TELUGU": "Telu",
    "THAI": "Thai",
    "HIRAGANA": "Hira",
    "KATAKANA": "Kana",
    "KATAKANA-HIRAGANA": "Kana",
    "HALFWIDTH": "Kana",
    "FULLWIDTH": "Latn",
    "CJK": "Hani",
    "IDEOGRAPHIC": "Hani",
    "HANGUL": "Hang",
    "ARMENIAN": "Armn",
    "GEORGIAN": "Geor",
    "ETHIOPIC": "Ethi",
    "TAMIL": "Taml",
    "KANNADA": "Knda",
    "MALAYALAM": "Mlym",
    "GUJARATI": "Gujr",
    "GURMUKHI": "Guru",
    "ORIYA": "Orya",
    "SINHALA": "Sinh",
    "KHMER": "Khmr",
    "LAO": "Laoo",
    "MYANMAR": "Mymr",
    "TIBETAN": "Tibt",
    "MONGOLIAN": "Mong",
}
# Of these it is known which characters they hold, so that a language written in another one is not checked by guess.
_KNOWN_SCRIPTS = frozenset(_SCRIPT_OF_NAME.values())


@dataclass(frozen=True)
class Problem:
    code: str
    message: str | Promise


def as_nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def unstorable(text: str) -> Problem | None:
    """What not even a draft may hold."""
    if len(text) > LONGEST_DRAFT:
        return Problem("too-long", _("This is far too long for a caption: at most 1,000 characters can be handed in."))
    if "\x00" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        return Problem("broken", _("This holds characters that are broken (a NUL or half of a pair); type it anew."))
    return None


def hard_error(text: str) -> Problem | None:
    """Why `text` cannot be handed in as a caption, or None."""
    if problem := unstorable(text):
        return problem
    trimmed = as_nfc(text).strip()
    if not trimmed:
        return Problem("empty", _("Nothing is written here yet."))
    if all(unicodedata.category(character)[0] in "CZ" for character in trimmed):
        return Problem("invisible", _("This holds nothing that can be seen: only spaces or control characters."))
    if len(trimmed) > LONGEST_CAPTION:
        return Problem("too-long", _("This is too long: at most 1,000 characters can be handed in."))
    return None


def soft_warnings(text: str, *, language: LanguageTraits, others: Iterable[str], english: str) -> list[Problem]:
    """What a writer may want to look at again; the writer decides.

    `others` are the writer's other captions, `english` the caption of screen 1: what it said is never told.
    """
    if hard_error(text):
        return []
    warnings = []
    if _is_mostly_foreign(text, frozenset(language.scripts)):
        warnings.append(Problem("script", _("Most of this is not in the script of the language. Is it the right one?")))
    if language.spaced and len(text.split()) < FEWEST_WORDS:
        warnings.append(Problem("short", _("This is shorter than three words. Would it do for a friend who cannot see?")))
    elif not language.spaced and sum(map(str.isalnum, text)) < FEWEST_CHARACTERS_UNSPACED:
        warnings.append(Problem("short", _("This is very short. Would it do for a friend who cannot see?")))
    folded = _folded(text)
    if any(folded == _folded(other) for other in others):
        warnings.append(Problem("repeated", _("You wrote the very same for another picture of this batch.")))
    if _is_near(folded, _folded(english)):
        warnings.append(
            Problem("copied", _("This is almost what was shown on the first screen. Say it in your own words."))
        )
    return warnings


@lru_cache(maxsize=20_000)
def _script_of(character: str) -> str:
    """ISO 15924 code of a letter; "" for what is no letter, and of scripts not known here."""
    if not character.isalpha():
        return ""
    return _SCRIPT_OF_NAME.get(unicodedata.name(character, "").split(" ")[0], "")


def _is_mostly_foreign(text: str, scripts: frozenset[str]) -> bool:
    if not scripts or not scripts <= _KNOWN_SCRIPTS:
        return False
    found = [script for script in map(_script_of, text) if script]
    foreign = sum(script not in scripts for script in found)
    return foreign > LARGEST_FOREIGN_SHARE * len(found)


@lru_cache(maxsize=4096)
def _folded(text: str) -> tuple[str, ...]:
    """Words without case, punctuation or the choice of code points: the same to a reader, the same here."""
    plain = "".join(
        character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "
        for character in unicodedata.normalize("NFKC", text).casefold()
    )
    return tuple(plain.split())


def _is_near(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    if not words or not others or not set(words) & set(others):
        return False
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    return matcher.real_quick_ratio() >= NEAR_IDENTICAL and matcher.ratio() >= NEAR_IDENTICAL
