"""Read captions for a projection: as bag of words, sequence of word numbers, and mean word vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.word_vectors import WordVectorSource

PADDING, UNKNOWN = 0, 1
FIRST_WORD = 2
"""Number of the first word in a sequence; 0 is no word, 1 any word that was not seen in training."""


@dataclass(frozen=True)
class ReadCaptions:
    """Captions as inputs of the network."""

    bags: NDArray[np.float32]
    """Shape (n, n_words)."""
    sequences: NDArray[np.int64]
    """Shape (n, longest): numbers of words, `PADDING` after the last."""
    means: NDArray[np.float32]
    """Shape (n, dimensions): mean vector of the words that have one; zero where none has; without columns where there
    are no vectors.
    """


class CaptionReader:
    """Reads captions with the words seen in training, and with the vectors of any word."""

    def __init__(self, words: Sequence[str], vectors: WordVectorSource | None) -> None:
        self.words = tuple(words)
        self.vectors = vectors
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._found: dict[str, NDArray[np.float32] | None] = {}

    def read(self, captions: Sequence[str]) -> ReadCaptions:
        """Read captions whose tokens are separated by whitespace."""
        tokens = [caption.split() for caption in captions]
        longest = max([1, *map(len, tokens)])
        bags = np.zeros((len(tokens), len(self.words)), dtype=np.float32)
        sequences = np.full((len(tokens), longest), PADDING, dtype=np.int64)
        means = np.zeros((len(tokens), self.vectors.dimensions if self.vectors else 0), dtype=np.float32)
        for row, words in enumerate(tokens):
            numbers = [self._numbers.get(word) for word in words]
            for place, number in enumerate(numbers):
                sequences[row, place] = UNKNOWN if number is None else FIRST_WORD + number
                if number is not None:
                    bags[row, number] += 1
            vectors = [vector for word in words if (vector := self._vector(word)) is not None]
            if vectors:
                means[row] = np.mean(vectors, axis=0)
        return ReadCaptions(bags, sequences, means)

    def table(self, rng: np.random.Generator, dimensions: int) -> NDArray[np.float32]:
        """Initialise the GRU's word embeddings: word vectors, or small random numbers for words without one."""
        size = self.vectors.dimensions if self.vectors else dimensions
        rows = rng.uniform(-0.1, 0.1, size=(FIRST_WORD + len(self.words), size)).astype(np.float32)
        rows[PADDING] = 0
        for number, word in enumerate(self.words):
            if (vector := self._vector(word)) is not None:
                rows[FIRST_WORD + number] = vector
        return rows

    def _vector(self, word: str) -> NDArray[np.float32] | None:
        if self.vectors is None:
            return None
        if word not in self._found:
            self._found[word] = self.vectors.vector(word)
        return self._found[word]


def words_of(captions: Sequence[str], *, least_count: int) -> list[str]:
    """List the words that occur at least `least_count` times, the most frequent first."""
    counts = Counter(word for caption in captions for word in caption.split())
    often = [(word, count) for word, count in counts.items() if count >= least_count]
    return [word for word, _count in sorted(often, key=lambda pair: (-pair[1], pair[0]))]
