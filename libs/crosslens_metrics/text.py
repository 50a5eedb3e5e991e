"""From captions to tokens: normal forms and tokenisers, each a named version that stands in the signature of a score.

Tokens are given on as texts whose tokens are parted by spaces, as the public tools take them.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from crosslens_metrics import ptb
from crosslens_metrics.hidden_characters import JOINERS
from crosslens_metrics.java import ToolMissingError

NORMALISATION = "norm-1"
WHITESPACE_VERSION = "whitespace-1"
CHARACTERS_VERSION = "characters-1"

WITH_DOTLESS_I = ("tr", "az", "crh", "gag")
"""Turkish, Azerbaijani, Crimean Tatar and Gagauz."""
LITHUANIAN = "lt"
_DOTTED = {ord("İ"): "i", ord("I"): "ı"}
_DOT_OF_I = re.compile("(?<=i)\u0307")
_DOT_BEFORE_ACCENT = re.compile("([ij]\u0328?)\u0307(?=[\u0300\u0301\u0303])")


class Tokenizer(StrEnum):
    WHITESPACE = "whitespace"
    PTB = "ptb"
    CHARACTERS = "characters"
    ICU = "icu"


NORMALISED_BY_DEFAULT = frozenset({Tokenizer.CHARACTERS, Tokenizer.ICU})
"""Whitespace takes the text as it stands, which may be tokens already; PTB lower-cases and drops punctuation itself."""


def tokenise(
    texts: Sequence[str], *, tokenizer: str = Tokenizer.WHITESPACE, language: str = "en", normalise: bool | None = None
) -> list[str]:
    """The tokens of each text.

    Parameters
    ----------
    texts : sequence of str, length n
    tokenizer : {"whitespace", "ptb", "characters", "icu"}
        What whitespace separates; Penn Treebank tokens (English; needs Java); every code point that is no whitespace;
        words by Unicode's rules and ICU's dictionaries, which languages without spaces need.
    language : str
        BCP-47 tag; ICU asks for it, and lower case (`lower_case`).
    normalise : bool, optional
        Whether to lower-case and to remove punctuation (`normalised`); without it as `normalised_by_default` says. ICU
        finds words in the text with its punctuation, and its words are normalised; the others tokenise what is left.

    Returns
    -------
    list of str, length n
        Tokens joined by single spaces; empty where a text has none. Whitespace changes nothing, so that a metric reads
        blanks as its reference implementation does: where two follow one another, ROUGE-L sees an empty token.

    Raises
    ------
    ValueError
        If there is no such tokeniser.
    crosslens_metrics.java.ToolMissingError
        If the tokeniser needs a program or package that is not there.
    """
    kind = Tokenizer(tokenizer)
    if normalise is None:
        normalise = normalised_by_default(kind)
    if kind is Tokenizer.ICU:
        return _icu_tokens(texts, language, normalise=normalise)
    plain = [normalised(text, language=language) for text in texts] if normalise else texts
    if kind is Tokenizer.PTB:
        return ptb.ptb_tokens(plain)
    if kind is Tokenizer.CHARACTERS:
        return [" ".join("".join(text.split())) for text in plain]
    return list(plain)


def tokenise_groups(
    groups: Sequence[Sequence[str]],
    *,
    tokenizer: str = Tokenizer.WHITESPACE,
    language: str = "en",
    normalise: bool | None = None,
) -> list[list[str]]:
    """As `tokenise`, for texts in groups, such as the references of each image; one call to a program for them all."""
    flat = [text for texts in groups for text in texts]
    tokens = iter(tokenise(flat, tokenizer=tokenizer, language=language, normalise=normalise))
    return [[next(tokens) for _text in texts] for texts in groups]


def check_captions(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise ValueError where there is no image, the lengths differ, or an image has no list of references."""
    if len(candidates) != len(references):
        raise ValueError(
            f"There are {len(candidates)} candidates, and references of {len(references)} images: give both for each."
        )
    if not len(candidates):
        raise ValueError("There is no image to score: give at least one candidate with its references.")
    for index, texts in enumerate(references):
        if isinstance(texts, str):
            raise ValueError(f"The references of image {index} are a single text: give a list of texts.")
        if not len(texts):
            raise ValueError(f"Image {index} has no reference: give at least one, or leave the image out.")


def normalised_by_default(tokenizer: str) -> bool:
    """Whether a tokeniser's texts are normalised where nobody says."""
    return Tokenizer(tokenizer) in NORMALISED_BY_DEFAULT


def text_version(tokenizer: str, normalise: bool | None = None, *, language: str = "en") -> str:
    """Name how texts are prepared before they are scored, such as `whitespace-1` or `icu-78.3+norm-1`.

    Where a language has a lower case of its own, its tag follows: `whitespace-1+norm-1.tr`.

    Raises
    ------
    ValueError
        If there is no such tokeniser.
    crosslens_metrics.java.ToolMissingError
        If ICU is not there.
    """
    kind = Tokenizer(tokenizer)
    name = {
        Tokenizer.WHITESPACE: WHITESPACE_VERSION,
        Tokenizer.PTB: f"ptb-{ptb.VERSION}",
        Tokenizer.CHARACTERS: CHARACTERS_VERSION,
    }.get(kind) or f"icu-{_icu_version()}"
    if normalise is None:
        normalise = normalised_by_default(kind)
    if not normalise:
        return name
    own = own_lower_case(language)
    return f"{name}+{NORMALISATION}.{own}" if own else f"{name}+{NORMALISATION}"


def normalised(text: str, *, language: str = "en") -> str:
    """`text` in lower case without punctuation, composed (NFC), its whitespace single spaces: version norm-1.

    Every character of Unicode's category P goes and leaves no space: "don't" becomes "dont", "well-known" "wellknown".
    Symbols (categories S: $, +, emoji) and marks stay. Lower case is that of the language (`lower_case`).
    """
    without = lower_case(text, language=language).translate(_punctuation())
    # What stood apart may now compose.
    return " ".join(unicodedata.normalize("NFC", without).split())


def own_lower_case(language: str) -> str:
    """The language, without script and region, where `lower_case` differs from Unicode's for all; else ""."""
    plain = language.split("-")[0].lower()
    return plain if plain in (*WITH_DOTLESS_I, LITHUANIAN) else ""


def lower_case(text: str, *, language: str) -> str:
    """`text` in the lower case of its language, composed (NFC).

    Where i with and without a dot are two letters, as in Turkish, "İ" becomes "i" and "I" becomes "ı"; the second dot
    that another language's lower case gave an "i" goes. In Lithuanian the dot that may be written between an i or j and
    its accent goes: "Ì" is "ì" however it is spelt. Elsewhere lower case is Unicode's own.

    References
    ----------
    The Unicode Standard, SpecialCasing.txt.
    """
    composed = unicodedata.normalize("NFC", text)
    own = own_lower_case(language)
    if own in WITH_DOTLESS_I:
        lower = _DOT_OF_I.sub("", composed.translate(_DOTTED).lower())
    elif own == LITHUANIAN:
        lower = _DOT_BEFORE_ACCENT.sub(r"\1", unicodedata.normalize("NFD", composed.lower()))
    else:
        lower = composed.lower()
    return unicodedata.normalize("NFC", lower)


@functools.cache
def _punctuation() -> dict[int, None]:
    return {code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")}


def _icu_tokens(texts: Sequence[str], language: str, *, normalise: bool) -> list[str]:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError as error:
        raise _without_icu() from error
    tokenised = []
    for text in texts:
        words = [word for word in WordBreaker(text, language) if any(map(str.isalnum, word))]
        line = " ".join(" ".join(words).split())
        tokenised.append(normalised(line, language=language) if normalise else line)
    return tokenised


def _icu_version() -> str:
    try:
        import icu4py
    except ImportError as error:
        raise _without_icu() from error
    return str(icu4py.icu_version)


def _without_icu() -> ToolMissingError:
    return ToolMissingError("There is no ICU here, which finds the words. Install it: pip install icu4py==1.2.0.")


# Vowel points, harakat and the tatweel are optional; the word is the same.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)


def folded(text: str, *, language: str = "") -> str:
    """Normalise the spelling of a word: NFKC, case folded as its language writes, without vowel points."""
    small = lower_case(unicodedata.normalize("NFKC", text), language=language)
    return _POINTS.sub("", unicodedata.normalize("NFKC", small.casefold()))


def occurrences(text: str, word: str, *, spaced: bool) -> list[tuple[int, int]]:
    """Find `word` in `text` as a whole word, ignoring case, as (start, end).

    In scripts with spaces, no letter, mark or digit may touch it. In others (ja, zh, th) any position counts that is
    not followed by a mark, since nothing shows where a word ends.
    """
    spans = (match.span() for match in re.finditer(re.escape(word), text, re.IGNORECASE))
    return [span for span in spans if _is_apart(text, *span, spaced=spaced)]


def _is_apart(text: str, start: int, end: int, *, spaced: bool) -> bool:
    following = text[end : end + 1]
    if not spaced:
        return not _is_mark(following)
    return not is_wordy(text[start - 1 : start] if start else "") and not is_wordy(following)


def stands_in(text: str, word: str, *, spaced: bool, language: str = "") -> bool:
    """Return whether `word` is in `text`, also in another spelling."""
    return bool(occurrences(folded(text, language=language), folded(word, language=language), spaced=spaced))


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("M")


def is_wordy(character: str) -> bool:
    """Return whether a character is part of a word: a letter, a mark, a digit or a joiner."""
    return bool(character) and (unicodedata.category(character)[0] in "LMN" or character in JOINERS)
