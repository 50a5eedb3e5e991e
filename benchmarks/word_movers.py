"""Word mover's distances, beside gensim's by the same solver: `python -m benchmarks.word_movers [--pairs 2000]`.

Captions of 8 to 16 words, as often as words are in a language (Zipf), 300 numbers to a word. The two take turns on the
same pairs on one core; the medians are compared.
"""

from __future__ import annotations

import os
import statistics

# Neither may use a second core.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from gensim.models import KeyedVectors

from benchmarks.harness import arguments, in_turns, tell
from crosslens_metrics.word_movers import word_movers_distance, word_movers_distances

WORDS, DIMENSIONS, TURNS = 20_000, 300, 5


def main() -> None:
    pairs = arguments(__doc__, pairs=2_000).pairs
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
    times = in_turns(contenders, TURNS)
    us = {name: 1e6 * statistics.median(one.wall_s for one in taken) / pairs for name, taken in times.items()}
    each = ", ".join(f"{name.replace('_', ' ')} {taken:.1f} µs" for name, taken in us.items())
    faster = " and ".join(f"{us['gensim'] / us[name]:.1f}" for name in ("one_by_one", "all_at_once"))
    tell(
        {
            "pairs": pairs,
            "us_per_pair": {name: round(taken, 1) for name, taken in us.items()},
            "largest_difference": float(apart),
        },
        f"Word mover's distance, one core, {pairs:,} pairs, each: {each}; {faster} times as fast as gensim",
    )


def _captions(count: int, words: list[str], often: np.ndarray, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(words, size=rng.integers(8, 17), p=often)) for _ in range(count)]


if __name__ == "__main__":
    main()
