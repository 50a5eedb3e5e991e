"""Fragments of English sentences that an image might show: words and phrases, by patterns over parts of speech."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from parallel_text.tagging import COMMON_NOUNS, TaggedSentence

MAX_PHRASE_WORDS = 5
"""Words of a phrase."""

_NOUN_PHRASE = re.compile(r"J*N+")
_VERB_PHRASE = re.compile(r"V(?:P|[DJ]*N+)")
_CLASSES = {"AJ0": "J", "AJC": "J", "AJS": "J", "AVP": "P", "AT0": "D", "DPS": "D", "DT0": "D", "CRD": "D"}
"""Tags of the CLAWS C5 tag set: adjectives, particles, and what stands before a noun."""


@dataclass(frozen=True)
class CandidateFragment:
    """A candidate and the positions of its tokens, from `start` to before `end`."""

    text: str
    kind: str
    start: int
    end: int


def fragments(tagged: TaggedSentence) -> Iterator[CandidateFragment]:
    """Find nouns, verbs and adjectives by their lemmas, and noun and verb phrases by their words in lower case.

    Proper nouns are no candidates.
    """
    classes = "".join(_class(tag, word) for tag, word in zip(tagged.tags, tagged.words, strict=True))
    for position, (letter, lemma) in enumerate(zip(classes, tagged.lemmas, strict=True)):
        if kind := {"N": "noun", "V": "verb", "J": "adjective"}.get(letter):
            yield CandidateFragment(lemma, kind, position, position + 1)
    for kind, pattern in (("noun_phrase", _NOUN_PHRASE), ("verb_phrase", _VERB_PHRASE)):
        for match in pattern.finditer(classes):
            if 2 <= match.end() - match.start() <= MAX_PHRASE_WORDS:
                words = tagged.words[match.start() : match.end()]
                yield CandidateFragment(" ".join(words).lower(), kind, match.start(), match.end())


def _class(tag: str, word: str) -> str:
    if not word[0].isalpha():
        return "."
    if tag in COMMON_NOUNS:
        return "N"
    return "V" if tag.startswith("VV") else _CLASSES.get(tag, ".")
