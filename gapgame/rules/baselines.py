"""Baselines that do not look at images: chance, frequency, and n-grams with back-off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from gapgame.rules.play import normalised

LONGEST_GRAM = 9
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_+")

Context = tuple[str, ...]


class Method(StrEnum):
    RANDOM = "random"
    FREQUENCY = "frequency"
    NGRAM = "ngram"


def words_before(text: str, *, number: int) -> Context:
    """Return the last `number` words and signs before a gap, folded as words are; fewer if the text is short.

    The beginning of a sentence is not part of the context.
    """
    return tuple(_TOKEN.findall(normalised(text))[-number:]) if number else ()


def random_words(training: Counter[str], number: int, *, by_frequency: bool, rng: np.random.Generator) -> list[str]:
    """Words of the training part at random, uniformly or by frequency."""
    words = sorted(training)
    weights = np.array([training[word] for word in words], dtype=float)
    p = weights / weights.sum() if by_frequency else None
    return [words[code] for code in rng.choice(len(words), size=number, p=p)]


class BackOff:
    """The word that most often filled a gap after the same words, with the longest context that was seen.

    Only contexts that the questions need are counted, so memory grows with the questions and not with the training
    part. Among equally frequent words, the one more frequent in all of the training part wins, then the first by code
    points.
    """

    def __init__(self, contexts: Iterable[Context]) -> None:
        self._after: dict[Context, Counter[str]] = {
            suffix: Counter() for context in contexts for suffix in suffixes(context)
        }
        self._after.setdefault((), Counter())

    def learn(self, context: Context, word: str) -> None:
        for suffix in suffixes(context):
            if (counter := self._after.get(suffix)) is not None:
                counter[word] += 1

    @property
    def training(self) -> Counter[str]:
        """Count how often each word filled a gap."""
        return self._after[()]

    def predict(self, context: Context) -> str:
        """
        Raises
        ------
        ValueError
            Where nothing was learned.
        """
        for suffix in suffixes(context):
            if counter := self._after.get(suffix):
                return min(counter, key=lambda word: (-counter[word], -self.training[word], word))
        raise ValueError("No word was learned.")


def suffixes(context: Sequence[str]) -> list[Context]:
    """Yield the context and its shorter ends, down to the empty one."""
    return [tuple(context[start:]) for start in range(len(context) + 1)]
