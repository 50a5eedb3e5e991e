"""English tokens with their parts of speech and lemmas, by HanTa."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from HanTa.HanoverTagger import HanoverTagger

MODEL = "morphmodel_en.pgz"
VERSION = 2
"""Raised when the same text gives other tokens."""

COMMON_NOUNS = frozenset({"NN0", "NN1", "NN2"})
"""Tags of the CLAWS C5 tag set, which HanTa's English model has: neutral, singular and plural."""

_WORD = re.compile(r"[^\W_]+(?:(?:[-'’.]|(?<=\d)[,:](?=\d))[^\W_]+)*['’]?|\S")
_CLITIC = re.compile(r"(?i)(?:n['’]t|['’](?:s|ll|re|ve|d|m))$")
MAX_KEPT = 200_000
"""Words whose analysis is kept in memory; the next one starts afresh."""


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence, in parallel: as spelt, where each starts in characters, its tag and its lemma."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    tags: tuple[str, ...]
    lemmas: tuple[str, ...]


def tokens(text: str) -> Iterator[tuple[str, int]]:
    """Split an English text into tokens, each with its start in characters.

    Contractions are two tokens, as in the British National Corpus, on which the tagger was trained: *do* and *n't*,
    *ca* and *n't*, *man* and *'s*. Double ones, such as *shouldn't've*, are one: the tagger takes the whole for a verb,
    but its parts for nouns. Numbers and times, such as *1,000* and *10:30*, are one.
    """
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        if word[-1] in "'’" and len(word) > 1:  # the end of a quotation, or of a plural's genitive
            yield from _split(word[:-1], start)
            yield word[-1], start + len(word) - 1
        else:
            yield from _split(word, start)


def _split(word: str, start: int) -> Iterator[tuple[str, int]]:
    clitic = _CLITIC.search(word)
    if clitic is None or clitic.start() == 0 or _CLITIC.search(word, 0, clitic.start()):
        yield word, start
        return
    yield word[: clitic.start()], start
    yield clitic[0], start + clitic.start()


class EnglishTagger:
    """HanTa's tagger of English, which keeps what it worked out for a word: the same answers in less time."""

    def __init__(self) -> None:
        self._hanta = _hanta()
        self._lemmas: dict[tuple[str, int], str] = {}

    def tag(self, text: str) -> TaggedSentence:
        """Return the tokens of a sentence with tags and lemmas."""
        pairs = list(tokens(text))
        if not pairs:
            return TaggedSentence((), (), (), ())
        words, starts = zip(*pairs, strict=True)
        # The apostrophe that the model knows.
        known = [word.replace("’", "'") for word in words]
        numbers = self._hanta.tag_sent_viterbi(known)
        lemmas = tuple(self._lemma(word, number) for word, number in zip(known, numbers, strict=True))
        return TaggedSentence(words, starts, tuple(self._hanta.int2tag[number] for number in numbers), lemmas)

    def _lemma(self, word: str, number: int) -> str:
        key = (word, number)
        if key not in self._lemmas:
            if len(self._lemmas) >= MAX_KEPT:
                self._lemmas.clear()
            self._lemmas[key] = self._hanta._analyze(word, number)[0].lower()
        return self._lemmas[key]


def tagger_version() -> str:
    """Name the tagger and its version."""
    return version("HanTa")


@cache
def _hanta() -> HanoverTagger:
    from HanTa.HanoverTagger import HanoverTagger

    class Caching(HanoverTagger):
        def analyze_forward(self, word: str) -> Sequence[tuple[int, float]]:
            """Keep the analysis of words that the model does not list, which costs most."""
            if word not in self.seen:
                if len(self.seen) >= MAX_KEPT:
                    self.seen.clear()
                self.seen[word] = super().analyze_forward(word)
            return self.seen[word]

    tagger = Caching(MODEL)
    tagger.seen = {}
    return tagger
