"""Rules that find what may name or describe a person in a caption: to look at, as most of it is harmless.

What is private almost for certain is found by `private_details`.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from annotation.rules.private_details import DetailKind, PrivateDetail
from crosslens_metrics.text import Tokenizer, tokenise

WORDS = Path(__file__).parent.parent / "data" / "words_about_people.tsv"
"""A line for each language: titles, and words by kind. A * stands for any letters at that end of a word. A title with a
dash follows the name, the others precede it."""
PEOPLE_KINDS = (DetailKind.NAME, DetailKind.FACE, DetailKind.MARK, DetailKind.ORIGIN, DetailKind.DISABILITY)
EVERY_NOUN_IN_CAPITALS = ("de", "lb")

_LETTERS = [chr(code) for code in (*range(0x41, 0x530), *range(0x1E00, 0x2000))]
"""Of the scripts with capitals: Latin, Greek and Cyrillic."""
_UPPER, _LOWER = ("".join(one for one in _LETTERS if unicodedata.category(one) == kind) for kind in ("Lu", "Ll"))
_NAME = rf"(?:(?:[{_UPPER}]['’])?[{_UPPER}][{_LOWER}]+(?:['’-]?[{_UPPER}]?[{_LOWER}]+)*|[{_UPPER}]\.)"
# After a full stop, a capital says nothing.
_NAMES = re.compile(rf"(?<=[^.!?…:\s]\s){_NAME}(?:[ \u00a0](?:(?:van|von|der|den|bin|ibn)[ \u00a0])*{_NAME})+")


class _WordsOfLanguage(NamedTuple):
    """`titled` finds names in a text, `by_kind` finds what is said in its tokens, between blanks.

    Capitals tell a name unless the language has none, or has them for every noun.
    """

    has_telling_capitals: bool
    titled: re.Pattern[str] | None
    by_kind: Mapping[DetailKind, re.Pattern[str]]


def people_details(texts: Sequence[str], language: str) -> list[list[PrivateDetail]]:
    """Return what may name or describe a person in each text, by kind. Words are given in lower case."""
    words = _words_of(language.split("-")[0])
    tokens = tokenise(texts, tokenizer=Tokenizer.ICU, language=language)
    return [_details(text, f" {line} ", words) for text, line in zip(texts, tokens, strict=True)]


def _details(text: str, line: str, words: _WordsOfLanguage) -> list[PrivateDetail]:
    names: list[str] = []
    if words.titled is not None:
        names += (match[0] for match in words.titled.finditer(text))
        text = words.titled.sub(" . ", text)
    if words.has_telling_capitals:
        names += (match[0] for match in _NAMES.finditer(text))
    found = [PrivateDetail(DetailKind.NAME, name) for name in names]
    for kind, pattern in words.by_kind.items():
        found += (PrivateDetail(kind, match[0]) for match in pattern.finditer(line))
    return found


@cache
def _words_of(language: str) -> _WordsOfLanguage:
    said = _lines().get(language, {})
    titles = [one for one in said.get("titles", "").split(", ") if one]
    by_kind = {}
    has_capitals = not titles or titles[0].upper() != titles[0]
    if not has_capitals:
        by_kind[DetailKind.NAME] = re.compile("|".join(_titled(one, language) for one in titles))
    for kind in PEOPLE_KINDS[1:]:
        if words := said.get(kind):
            one_of = "|".join(sorted((_pattern(word, language) for word in words.split(", ")), key=len, reverse=True))
            by_kind[kind] = re.compile(rf"(?<= )(?:{one_of})(?= )")
    before = "|".join(map(re.escape, titles))
    titled = rf"(?<!\w)(?i:{before})\.?[ \u00a0]{_NAME}(?:[ \u00a0]{_NAME})*"
    return _WordsOfLanguage(
        has_capitals and language not in EVERY_NOUN_IN_CAPITALS,
        re.compile(titled) if has_capitals and titles else None,
        by_kind,
    )


def _titled(title: str, language: str) -> str:
    """Match a title with the token after it, or, with a dash, the one before it."""
    word = _pattern(title.removeprefix("-"), language)
    return rf"(?<= )\S+ {word}(?= )" if title.startswith("-") else rf"(?<= ){word} \S+(?= )"


def _pattern(word: str, language: str) -> str:
    """Match a word of the list in tokens, parted and spelt as those of texts are."""
    (plain,) = tokenise([word.removesuffix("*")], tokenizer=Tokenizer.ICU, language=language)
    return re.escape(plain) + (r"\S*" if word.endswith("*") else "")


@cache
def _lines() -> dict[str, dict[str, str]]:
    with WORDS.open(encoding="utf-8", newline="") as file:
        return {line.pop("language"): line for line in csv.DictReader(file, delimiter="\t")}
