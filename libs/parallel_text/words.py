"""Words of the languages besides English: found in a text, brought to one spelling, and to their lemmas."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence, Set
from importlib.metadata import version

import regex

from crosslens_metrics.text import Tokenizer, lower_case, text_version, tokenise

VERSION = 1
"""Raised when the same text gives other words."""

SPACELESS = frozenset({"ja", "km", "lo", "my", "th", "yue", "zh"})
"""Languages without spaces between words: ICU's dictionaries find them, and leave punctuation out."""

ELIDING = frozenset({"ca", "fr", "ga", "gl", "it", "oc", "pt"})
"""Languages in which an apostrophe ends a word: French "l'homme" is "l'" and "homme"."""

MAX_ENDING_CHARACTERS, MIN_STEM_CHARACTERS = 3, 3

NOUNS_IN_CAPITALS = frozenset({"de", "lb"})

LEMMAS_OF = {"bs": "hbs", "fil": "tl", "hr": "hbs", "no": "nb", "sh": "hbs", "sr": "hbs"}
"""What simplemma calls a language, where that is not its tag."""

# Marks, such as Indic vowel signs, stand inside words; so do numbers ("H2O"), hyphens, apostrophes, Catalan's middle
# dot, Hebrew's gershayim and the joiners of Persian and Indic scripts. Anything else but blanks is a token by itself.
TOKEN = regex.compile(
    r"\d+(?:[.,:]\d+)+(?![\p{L}\p{M}])"
    r"|[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’ʼ‘\-‐‑·׳״\u200c\u200d][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*"
    r"|\S\p{M}*"
)
APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ‘", "'"))
# French "aujourd'hui", "presqu'île", "prud'homme" and "quelqu'un" are one word.
ELISION = regex.compile(r"(?<=\p{L}['’ʼ])(?<!\b(?:aujourd|presqu|prud|quelqu)['’ʼ])(?=\p{L})", regex.IGNORECASE)


def tokens_of(texts: Sequence[str], language: str) -> list[list[str]]:
    """Find the words and signs of each text, as spelt.

    Any script is read. Of languages without spaces (`SPACELESS`), words are those that ICU finds, without signs. Only
    elisions are parted within a word: particles of Korean and prefixes of Arabic stay with their nouns.

    - `texts`: length n.
    - `language`: BCP-47 tag.
    - returned: length n: no token is empty or holds white space.

    Raises crosslens_metrics.java.ToolMissingError if the language has no spaces and ICU is not there.
    """
    base = base_of(language)
    if base in SPACELESS:
        return [line.split() for line in tokenise(texts, tokenizer=Tokenizer.ICU, language=language, normalise=False)]
    if base in ELIDING:
        return [[part for token in TOKEN.findall(text) for part in ELISION.split(token)] for text in texts]
    return [TOKEN.findall(text) for text in texts]


def is_word(token: str) -> bool:
    """Return whether a token has a letter: digits and signs alone translate nothing."""
    return any(map(str.isalpha, token))


def lower(word: str, language: str) -> str:
    """Return the spelling by which words compare: lower case, NFC."""
    return lower_case(word, language=language)


def lemma_of(word: str, language: str) -> str:
    """Return the lemma of a noun in lower case: simplemma's, or the word itself where that knows no better."""
    form = lower(word, language)
    tag = lemmas_for(language)
    if not tag:
        return form
    form = form.translate(APOSTROPHES)
    # As the noun that it is: in German "Siegel" is a seal, and "siegel" the imperative of to seal.
    spellings = (form.title(), form) if tag in NOUNS_IN_CAPITALS else (form,)
    return lower(_simplemma(spellings, tag), language)


def noun_lemma(form: str, language: str, nouns: Set[str]) -> str:
    """Return the lemma of a word that translates a noun, given the nouns of the language.

    Where the lemma is no noun, as that of Spanish "flores" is "florar", the word itself is taken if it is one, or else
    the noun that is left without one to `MAX_ENDING_CHARACTERS` letters at its end.
    """
    lemma = lemma_of(form, language)
    if lemma in nouns:
        return lemma
    stems = (
        form[: len(form) - cut] for cut in range(MAX_ENDING_CHARACTERS + 1) if len(form) - cut >= MIN_STEM_CHARACTERS
    )
    return next((stem for stem in stems if stem in nouns), lemma)


def lemmas_for(language: str) -> str:
    """Return what simplemma calls a language, or an empty text where it knows nothing of it."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    base = base_of(language)
    tag = LEMMAS_OF.get(base, base)
    return tag if tag in SUPPORTED_LANGUAGES else ""


def _simplemma(spellings: Iterable[str], tag: str) -> str:
    from simplemma import is_known, lemmatize

    spelling = ""
    for spelling in spellings:
        if is_known(spelling, lang=tag):
            break
    return lemmatize(spelling, lang=tag)


@functools.cache
def base_of(language: str) -> str:
    """Return the language of a tag without region or script: "pt" of "pt-BR"."""
    return language.partition("-")[0].lower()


def word_tools(languages: Iterable[str]) -> dict[str, str]:
    """Name what finds the words of these languages, with versions."""
    tools = {"words": str(VERSION)}
    if any(base_of(language) in SPACELESS for language in languages):
        tools["icu"] = text_version(Tokenizer.ICU, normalise=False).removeprefix("icu-")
    return tools


def lemma_tools(languages: Iterable[str]) -> dict[str, str]:
    """Name what finds the lemmas of these languages, and which languages keep their words as they are."""
    unknown = sorted(language for language in languages if not lemmas_for(language))
    tools = {"simplemma": version("simplemma")}
    if unknown:
        tools["lemmas"] = "the word itself: " + ", ".join(unknown)
    return tools
