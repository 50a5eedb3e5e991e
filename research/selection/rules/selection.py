"""Choose images for languages by place: the greedy of Crossmodal-3600, over a million candidates in seconds.

The languages with the fewest images in their own regions choose first. Each takes images from its best level, in an
order that depends on the seed and the key of the image alone, and backs off to the next level when none is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geography.places import PointPlace
from research.selection.rules.tables import Areas, PlaceLevel, level_of

LEVELS = tuple(PlaceLevel)
"""From the best to the worst; an image is taken at its own level only."""

HASH_BYTES = 8

Counts = dict[PlaceLevel, int]


@dataclass(frozen=True)
class ChosenImage:
    """An image and the language that it was chosen for."""

    index: int
    """Into the candidates."""
    key: str
    language: str
    level: PlaceLevel
    position: int
    """In the order of choice within the language, from 1."""


@dataclass(frozen=True)
class LanguageChoice:
    """What a language could choose from and what it got, by level."""

    pool: Counts
    """Number of candidates whose best level this is, before any was assigned."""
    free: Counts
    """Those of the pool that other languages had left when it was this language's turn."""
    chosen: Counts
    """Number of images taken."""
    missing: int
    """How many of the images asked for there were not."""


@dataclass(frozen=True)
class SelectedImages:
    """The outcome: images by language in the order of choice; `languages` in the order of their turns."""

    images: list[ChosenImage]
    languages: dict[str, LanguageChoice]


def choose(
    *,
    keys: Sequence[str],
    places: ArrayLike,
    distinct: Sequence[PointPlace],
    areas: Mapping[str, Areas],
    languages: Iterable[str],
    per_language: int,
    seed: int,
    levels: Iterable[PlaceLevel] = LEVELS,
) -> SelectedImages:
    """Choose up to `per_language` images for each language, none of them twice.

    Parameters
    ----------
    keys : sequence of str, length n
        Of the candidates, each once.
    places : array_like of int, shape (n,)
        The place of each candidate, as an index into `distinct`.
    distinct : sequence of Place
    areas : mapping of str to Areas
        Where each language is spoken. All candidates are `anywhere` to a language that it lacks.
    languages : iterable of str
    per_language : int
        At least 1.
    seed : int
    levels : iterable of Level
        Those that images may be taken from; a candidate of another level is not taken for that language.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If a key comes twice, or `per_language` is below 1.

    References
    ----------
    Thapliyal et al. (2022), Crossmodal-3600, section 2.2. Where candidates are equal, the order is ours.
    """
    tags, allowed = sorted(set(languages)), set(levels)
    if per_language < 1:
        raise ValueError("per_language must be at least 1")
    if len(set(keys)) != len(keys):
        raise ValueError("a key comes twice")
    of_place = np.asarray(places, dtype=np.int64).reshape(-1)
    ranks = {tag: _ranks(distinct, areas.get(tag, Areas())) for tag in tags}
    at_places = np.bincount(of_place, minlength=len(distinct))
    pools = {tag: _counted(ranks[tag], at_places) for tag in tags}
    order = order_of(keys, seed)
    in_order = of_place[order]
    is_free = np.ones(len(order), dtype=bool)
    images: list[ChosenImage] = []
    outcome: dict[str, LanguageChoice] = {}
    for tag in sorted(tags, key=lambda tag: (pools[tag][PlaceLevel.REGION], tag)):
        own = ranks[tag][in_order]
        free = _counted(ranks[tag], np.bincount(in_order[is_free], minlength=len(distinct)))
        chosen = dict.fromkeys(LEVELS, 0)
        for rank, level in enumerate(LEVELS):
            wanted = per_language - sum(chosen.values())
            if level not in allowed or not wanted or not free[level]:
                continue
            taken = np.flatnonzero(is_free & (own == rank))[:wanted]
            is_free[taken] = False
            before = sum(chosen.values())
            chosen[level] = len(taken)
            images += [
                ChosenImage(index, keys[index], tag, level, position)
                for position, index in enumerate(order[taken].tolist(), start=before + 1)
            ]
        outcome[tag] = LanguageChoice(pools[tag], free, chosen, per_language - sum(chosen.values()))
    return SelectedImages(images, outcome)


def reserve_keys(
    *,
    keys: Sequence[str],
    places: ArrayLike,
    distinct: Sequence[PointPlace],
    areas: Mapping[str, Areas],
    languages: Iterable[str],
    taken: Iterable[int],
    at_most: int,
    seed: int,
    levels: Iterable[PlaceLevel] = LEVELS,
) -> dict[str, list[str]]:
    """Return for each language the keys that it would take next, were it the only one: the best level first.

    Arguments are those of `choose`; `taken` are indices of candidates that have been chosen.
    """
    of_place, order, allowed = np.asarray(places, dtype=np.int64).reshape(-1), order_of(keys, seed), set(levels)
    is_free = np.ones(len(order), dtype=bool)
    is_free[np.fromiter(taken, dtype=np.int64)] = False
    left = order[is_free[order]]
    found: dict[str, list[str]] = {}
    for tag in sorted(set(languages)):
        own, indices = _ranks(distinct, areas.get(tag, Areas()))[of_place[left]], list[int]()
        for rank, level in enumerate(LEVELS):
            if level in allowed and len(indices) < at_most:
                indices += left[np.flatnonzero(own == rank)[: at_most - len(indices)]].tolist()
        found[tag] = [keys[index] for index in indices]
    return found


def order_of(keys: Sequence[str], seed: int) -> NDArray[np.int64]:
    """Return the indices of `keys` in the order of choice: by a hash of seed and key, then by key."""
    hashes = np.fromiter((hash_of(key, seed) for key in keys), dtype=np.uint64, count=len(keys))
    order = np.argsort(hashes, kind="stable").astype(np.int64)
    in_order = hashes[order]
    if (in_order[1:] == in_order[:-1]).any():
        return np.array(sorted(range(len(keys)), key=lambda index: (hashes[index], keys[index])), dtype=np.int64)
    return order


def hash_of(key: str, seed: int) -> int:
    """Return 64 bits that every computer and every version of Python agree on."""
    return int.from_bytes(blake2b(f"{seed}:{key}".encode(), digest_size=HASH_BYTES).digest(), "big")


def _ranks(distinct: Sequence[PointPlace], areas: Areas) -> NDArray[np.uint8]:
    rank = {level: number for number, level in enumerate(LEVELS)}
    return np.fromiter((rank[level_of(place, areas)] for place in distinct), dtype=np.uint8, count=len(distinct))


def _counted(ranks: NDArray[np.uint8], at_places: NDArray[np.int64]) -> Counts:
    sizes = np.bincount(ranks, weights=at_places, minlength=len(LEVELS))
    return {level: int(size) for level, size in zip(LEVELS, sizes, strict=True)}
