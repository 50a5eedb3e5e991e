"""The word mover's distance of two texts, exact: how far the words of one have to travel to become the other.

POT solves what shared and single words leave open; it is imported when it is first needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

PACKAGE = "POT"
FRAMEWORKS = {
    "torch": "POT_BACKEND_DISABLE_PYTORCH",
    "jax": "POT_BACKEND_DISABLE_JAX",
    "cupy": "POT_BACKEND_DISABLE_CUPY",
    "tensorflow": "POT_BACKEND_DISABLE_TENSORFLOW",
}
"""What POT loads where it is installed, and the variable that keeps it from doing so."""
MAX_STEPS = 1_000_000


class VectorLookup(Protocol):
    """What `crosslens_metrics.word_vectors` opens: a vector for a word, or None."""

    def vector(self, word: str) -> NDArray[np.float32] | None: ...


WordLookup = VectorLookup | Mapping[str, ArrayLike]


class SolverMissingError(ImportError):
    """POT is not installed."""


@dataclass(frozen=True)
class TextDistances:
    """Distances of pairs of texts, and how much of the texts they rest on.

    values : ndarray of float64, shape (n_pairs,)
        In the unit of the vectors. Infinite where one of the two texts has no word with a vector.
    undefined : int
        How many of them are infinite.
    words, unknown_words : int
        Tokens of all distinct texts, and those among them without a vector, which were left out.
    """

    values: NDArray[np.float64]
    undefined: int
    words: int
    unknown_words: int


def word_movers_distance(a: str, b: str, vectors: WordLookup, *, unit_length: bool = False) -> float:
    """How far the words of one text have to travel to become those of the other, at the least.

    Each text is its bag of words, normalised to weigh 1; moving a weight from one word to another costs it times the
    Euclidean distance of their vectors. Words without a vector are left out first, as if they were not there.

    Parameters
    ----------
    a, b : str
        Tokens parted by whitespace.
    vectors : mapping of str to array_like of float, shape (dimensions,), or an object with `vector(word)`
        Such as a dict, gensim's KeyedVectors, or what `crosslens_metrics.word_vectors.open_table` gives.
    unit_length : bool
        Bring every vector to length 1 first (gensim's default since version 4); the distance is then at most 2.

    Returns
    -------
    float
        In the unit of the vectors; 0 for texts with the same words in the same shares.

    Raises
    ------
    UndefinedFigureError
        Where a text has no word with a vector.
    SolverMissingError
        Where POT is needed and not installed.

    References
    ----------
    M. Kusner, Y. Sun, N. Kolkin and K. Weinberger (2015), From Word Embeddings To Document Distances, ICML.
    """
    distances = word_movers_distances([a], [b], vectors, unit_length=unit_length)
    if distances.undefined:
        raise UndefinedFigureError(UndefinedReason.NO_KNOWN_WORD, "One of the two texts has no word with a vector.")
    return float(distances.values[0])


def word_movers_distances(
    a: Sequence[str], b: Sequence[str], vectors: WordLookup, *, unit_length: bool = False
) -> TextDistances:
    """The word mover's distance of many pairs; each word is looked up once, each text counted once.

    Parameters
    ----------
    a, b : sequence of str, length n_pairs
        Tokens parted by whitespace; the pairs are (a[0], b[0]), (a[1], b[1]) ...
    vectors, unit_length
        As for `word_movers_distance`.

    Returns
    -------
    TextDistances

    Raises
    ------
    ValueError
        Where there is no pair, or the lengths differ.
    SolverMissingError
    """
    if len(a) != len(b):
        raise ValueError(f"There are {len(a)} texts on one side and {len(b)} on the other.")
    if not a:
        raise ValueError("There is no pair of texts.")
    words = _KnownWords(vectors)
    bags = {text: words.bag(text) for text in dict.fromkeys([*a, *b])}
    matrix = words.matrix(unit_length=unit_length)
    values = np.array([_distance(bags[one], bags[other], matrix) for one, other in zip(a, b, strict=True)])
    return TextDistances(
        values=values,
        undefined=int(np.isinf(values).sum()),
        words=sum(bag.tokens for bag in bags.values()),
        unknown_words=sum(bag.tokens - bag.total for bag in bags.values()),
    )


@dataclass(frozen=True)
class _WordBag:
    """How often each known word comes; `total` is the sum, `tokens` counts the unknown ones too."""

    counts: dict[int, int]
    total: int
    tokens: int


class _KnownWords:
    """Numbers the words with a vector in the order in which they come."""

    def __init__(self, vectors: WordLookup) -> None:
        self._find: Callable[[str], Any] = _finder(vectors)
        self._numbers: dict[str, int | None] = {}
        self._rows: list[ArrayLike] = []

    def bag(self, text: str) -> _WordBag:
        tokens = text.split()
        counts: dict[int, int] = {}
        for token in tokens:
            number = self._numbers[token] if token in self._numbers else self._add(token)
            if number is not None:
                counts[number] = counts.get(number, 0) + 1
        return _WordBag(counts=counts, total=sum(counts.values()), tokens=len(tokens))

    def matrix(self, *, unit_length: bool) -> NDArray[np.float64]:
        if not self._rows:
            return np.empty((0, 0))
        rows = [np.asarray(row) for row in self._rows]
        odd = next((number for number, row in enumerate(rows) if row.shape != rows[0].shape), None)
        if odd is not None:
            raise ValueError(f"The vector of {self._word(odd)!r} has the shape {rows[odd].shape}, not {rows[0].shape}.")
        matrix = np.array(rows, dtype=np.float64)
        squares = np.einsum("nd,nd->n", matrix, matrix)
        if not np.isfinite(squares).all():
            raise ValueError(f"The vector of {self._word(int(np.isfinite(squares).argmin()))!r} is not finite.")
        if unit_length:
            squares[squares == 0] = 1.0
            matrix /= np.sqrt(squares)[:, None]
        return matrix

    def _add(self, word: str) -> int | None:
        vector = self._find(word)
        number = None if vector is None else len(self._rows)
        if vector is not None:
            self._rows.append(vector)
        self._numbers[word] = number
        return number

    def _word(self, number: int) -> str:
        return next(word for word, known in self._numbers.items() if known == number)


def _finder(vectors: WordLookup) -> Callable[[str], Any]:
    method: Callable[[str], Any] | None = getattr(vectors, "vector", None)
    if callable(method):
        return method
    mapping: Mapping[str, ArrayLike] = vectors  # type: ignore[assignment]
    return lambda word: mapping[word] if word in mapping else None  # noqa: SIM401 - gensim's get is not a mapping's


def _distance(a: _WordBag, b: _WordBag, vectors: NDArray[np.float64]) -> float:
    if not a.total or not b.total:
        return np.inf
    # In whole numbers both sides weigh exactly the same. What they share stays where it is: distances obey the
    # triangle inequality, so that no plan is cheaper than the cheapest one that leaves it there.
    sources, supply = _rest(a, b)
    targets, demand = _rest(b, a)
    if not sources:
        return 0.0
    costs = scipy.spatial.distance.cdist(vectors[sources], vectors[targets])
    weight = float(a.total * b.total)
    if len(sources) == 1 or len(targets) == 1:
        return float(supply @ costs @ demand) / float(supply.sum()) / weight
    # Words with the same vector: POT's solver does not end where no way costs anything.
    return _cheapest()(supply, demand, costs) / weight if costs.any() else 0.0


def _rest(bag: _WordBag, other: _WordBag) -> tuple[list[int], NDArray[np.float64]]:
    """The words of which `bag` has more than `other`, and how much more, as a share times both totals."""
    words, more = [], []
    for word, count in bag.counts.items():
        left = count * other.total - other.counts.get(word, 0) * bag.total
        if left > 0:
            words.append(word)
            more.append(left)
    return words, np.array(more, dtype=np.float64)


@cache
def _cheapest() -> Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], float]:
    """The cost of the cheapest plan, by POT's network simplex."""
    try:
        with _without_frameworks():
            from ot import emd2
    except ImportError as error:
        raise SolverMissingError(
            f"The word mover's distance needs {PACKAGE}, which is not installed: pip install POT"
        ) from error

    def cost(supply: NDArray[np.float64], demand: NDArray[np.float64], costs: NDArray[np.float64]) -> float:
        return float(emd2(supply, demand, costs, numItermax=MAX_STEPS, center_dual=False, check_marginals=False))

    return cost


@contextmanager
def _without_frameworks() -> Iterator[None]:
    """POT imports whatever framework is installed, PyTorch for instance: seconds and hundreds of MB for nothing."""
    keys = [key for module, key in FRAMEWORKS.items() if module not in sys.modules and key not in os.environ]
    os.environ.update(dict.fromkeys(keys, "1"))
    try:
        yield
    finally:
        for key in keys:
            del os.environ[key]
