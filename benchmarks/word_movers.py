"""Word mover's distances, beside gensim's by the same solver: `python -m benchmarks.word_movers [PAIRS]`.

Captions of 8 to 16 words, as often as words are in a language (Zipf), 300 numbers to a word. The two take turns on the
same pairs on one core; the medians are compared. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable

# Neither may use a second core.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from gensim.models import KeyedVectors

from crosslens_metrics.word_movers import word_movers_distance, word_movers_distances

PAIRS, WORDS, DIMENSIONS, TURNS = 2_000, 20_000, 300, 5


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    rng = np.random.default_rng(1)
    words = [f"word{number}" for number in range(WORDS)]
    vectors = KeyedVectors(DIMENSIONS)
    vectors.add_vectors(words, rng.normal(size=(WORDS, DIMENSIONS)).astype(np.float32))
    vectors.fill_norms()
    often = 1 / np.arange(1, WORDS + 1)
    a, b = (_captions(pairs, words, often / often.sum(), rng) for _ in range(2))

    def theirs() -> list[float]:
        return [vectors.wmdistance(one.split(), other.split()) for one, other in zip(a, b, strict=True)]

    def one_by_one() -> list[float]:
        return [word_movers_distance(one, other, vectors, unit_length=True) for one, other in zip(a, b, strict=True)]

    def all_at_once() -> list[float]:
        return list(word_movers_distances(a, b, vectors, unit_length=True).values)

    contenders = {"gensim": theirs, "one_by_one": one_by_one, "all_at_once": all_at_once}
    apart = np.abs(np.array(theirs()) - all_at_once()).max()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(TURNS):
        for name, contender in contenders.items():
            times[name].append(_seconds(contender))
    medians = {name: 1e6 * statistics.median(taken) / pairs for name, taken in times.items()}
    us_per_pair = {name: round(taken, 1) for name, taken in medians.items()}
    print(json.dumps({"pairs": pairs, "us_per_pair": us_per_pair, "largest_difference": float(apart)}))


def _captions(count: int, words: list[str], often: np.ndarray, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(words, size=rng.integers(8, 17), p=often)) for _ in range(count)]


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
