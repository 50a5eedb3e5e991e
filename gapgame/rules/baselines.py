"""Baselines: chance, frequency, n-grams with back-off, and the words of the nearest training images."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from gapgame.rules.play import normalised_word

MAX_GRAM_LENGTH = 9
NEIGHBOURS = 10
ROWS_AT_ONCE = 1_000
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_+")

Context = tuple[str, ...]


class BaselineMethod(StrEnum):
    RANDOM = "random"
    FREQUENCY = "frequency"
    NGRAM = "ngram"
    IMAGE = "image"


def words_before(text: str, *, number: int, language: str = "") -> Context:
    """Return the last `number` words and signs before a gap, folded as words are; fewer if the text is short.

    The beginning of a sentence is not part of the context.
    """
    return tuple(_TOKEN.findall(normalised_word(text, language=language))[-number:]) if number else ()


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


def nearest_word(
    training: NDArray[np.float32], words: Sequence[Counter[str]], asked: NDArray[np.float32], *, neighbours: int
) -> list[str]:
    """Return the word for which the nearest training images vote, by the cosine of their features.

    An image divides its one vote over the words of its training instances by how often each came. Of equal words the
    one more frequent in all of training wins, then the first by code points; of equally near images the first.

    Parameters
    ----------
    training : ndarray, shape (n_training, dimensions)
    words : sequence of Counter, length n_training
        How often each word came with each training image.
    asked : ndarray, shape (n_asked, dimensions)
    neighbours : int
        At most as many training images vote.
    """
    total: Counter[str] = Counter()
    for counter in words:
        total.update(counter)
    near, answers = _directions(training), []
    for start in range(0, len(asked), ROWS_AT_ONCE):
        cosines = _directions(asked[start : start + ROWS_AT_ONCE]) @ near.T
        for row in np.argsort(-cosines, axis=1, kind="stable")[:, :neighbours]:
            votes: dict[str, float] = {}
            for image in row.tolist():
                share = 1 / words[image].total()
                for word, number in words[image].items():
                    votes[word] = votes.get(word, 0.0) + number * share
            answers.append(_most_votes(votes, total))
    return answers


def _most_votes(votes: dict[str, float], total: Counter[str]) -> str:
    return min(votes, key=lambda word: (-round(votes[word], 9), -total[word], word))


def _directions(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
