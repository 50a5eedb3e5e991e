"""What a language tag may look like, and the one spelling that stands for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

ALIASES: dict[str, str] = {"iw": "he", "in": "id", "mo": "ro", "tl": "fil", "qu": "quz"}
"""Other tags that files use, and the tag they are stored under. Whole tags only: `qu-BO` is another language.

All but the last are from Unicode CLDR: tags that were withdrawn, and that of Tagalog, which stands for Filipino.
"""

NAMES_IN_FILES = ("language", "lang", "language_code", "lang_code")
"""What files call the language of a line, in any case."""

WITHOUT_SPACES = frozenset(
    ("zh", "cmn", "cjy", "gan", "hsn", "lzh", "wuu", "yue", "ja", "th", "tts", "lo", "km", "my", "shn", "bo", "dz")
)
"""Languages whose words no spaces separate. Thai, Lao, Khmer and Burmese put spaces between phrases, and Tibetan's mark
between syllables is no space."""

MAX_TAG_CHARACTERS = 35
"""Characters: what RFC 5646 section 4.4.1 says a buffer for a tag has to hold."""

_LANGUAGE_TAG = re.compile(
    r"""
    (?: [a-z]{2,3} (?: - [a-z]{3} ){0,3} | [a-z]{4,8} )      # language, extended language
    (?: - [a-z]{4} )?                                        # script
    (?: - (?: [a-z]{2} | [0-9]{3} ) )?                       # region
    (?P<variants> (?: - (?: [a-z0-9]{5,8} | [0-9][a-z0-9]{3} ) )* )
    (?P<extensions> (?: - [a-wyz0-9] (?: - [a-z0-9]{2,8} )+ )* )
    (?: - x (?: - [a-z0-9]{1,8} )+ )?
    | x (?: - [a-z0-9]{1,8} )+
    """,
    re.VERBOSE,
)


class MalformedTagError(ValueError):
    """Says what was given, why it is no language tag, and what one looks like."""


def canonical_tag(tag: str) -> str:
    """The spelling of a BCP-47 tag that languages are stored under: `PT-br` and `pt_BR` are `pt-BR`, `iw` is `he`.

    Raises
    ------
    MalformedTagError
        Where `tag` is not well-formed. Whether the language exists is not asked.

    References
    ----------
    RFC 5646, sections 2.1 (syntax), 2.1.1 (case) and 2.2.9 (well-formed tags).
    """
    lower = tag.strip().lower().replace("_", "-")
    if not lower:
        raise MalformedTagError("A language tag is missing; write one such as de, pt-BR or sr-Cyrl.")
    if len(lower) > MAX_TAG_CHARACTERS:
        raise MalformedTagError(
            f"{tag[:MAX_TAG_CHARACTERS]!r}… is not a language tag: it is longer than {MAX_TAG_CHARACTERS} characters."
        )
    match = _LANGUAGE_TAG.fullmatch(lower)
    if match is None:
        raise MalformedTagError(
            f"{tag!r} is not a BCP-47 language tag; write the language, then if need be the script and the region, "
            "as in de, pt-BR or sr-Cyrl."
        )
    # Of an extension only its one-letter name has to be unique, of the variants each.
    singletons = re.findall(r"-([a-z0-9])(?=-)", match["extensions"] or "")
    variants = (match["variants"] or "").split("-")[1:]
    for parts in (singletons, variants):
        twice = next((part for part in parts if parts.count(part) > 1), None)
        if twice is not None:
            raise MalformedTagError(f"{tag!r} is not a language tag: the part {twice!r} is there twice.")
    cased = _in_canonical_case(lower)
    return ALIASES.get(cased, cased)


def language_named_in(values: Mapping[str, Any]) -> Any:
    """What a line of a file says its language is, under whichever of `NAMES_IN_FILES`; None if it does not say."""
    return next((value for name, value in values.items() if name.strip().lower() in NAMES_IN_FILES), None)


def comparable(text: str) -> str:
    """A cell of a table as cells compare: whatever its capitals, and other names of a language as its tag."""
    folded = text.strip().casefold()
    return ALIASES.get(folded, folded)


def spaces_separate_words(tag: str) -> bool:
    """Whether there are spaces between words in a language, as it is usually written; in Latin letters there are."""
    language, *rest = tag.lower().split("-")
    return language not in WITHOUT_SPACES or "latn" in rest


def _in_canonical_case(lower: str) -> str:
    parts = lower.split("-")
    cased = parts[:1]
    for previous, part in pairwise(parts):
        if len(previous) == 1:
            cased.append(part)
        elif len(part) == 2:
            cased.append(part.upper())
        elif len(part) == 4 and part.isalpha():
            cased.append(part.title())
        else:
            cased.append(part)
    return "-".join(cased)
