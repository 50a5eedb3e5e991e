"""n-grams gathered by sorting: where each stands, in which captions, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.encoding import EncodedCaptions, side_by_side
from crosslens_metrics.vocabulary import Numbers

ORDERS = (1, 2, 3, 4)
KEY_BITS = 64
PLACES_AT_ONCE = 500_000
# The more parts, the farther apart in memory are the places of each. Their numbers are bytes: never more than 255.
MAX_PARTS = 32
Flags = NDArray[np.bool_]
SmallNumbers = NDArray[np.int32]
Found = TypeVar("Found")


class WordPlaces:
    """What is known of each place in `captions.words`.

    - `caption_of`: shape (n_words,).
    - `image_of`: shape (n_captions,).
    - `side_of`: shape (n_captions,): twice the image, and one more for candidates.
    """

    def __init__(self, captions: EncodedCaptions) -> None:
        self.captions = captions
        self.caption_of = np.repeat(np.arange(len(captions.lengths), dtype=np.int32), captions.lengths)
        per_image = np.diff(captions.caption_starts)
        self.image_of = np.repeat(np.arange(captions.n_images, dtype=np.int32), per_image)
        self.side_of = 2 * self.image_of
        self.side_of[captions.candidates] += 1

    def beginnings(self, order: int, numbers: SmallNumbers, first: int = 0, end: int | None = None) -> Numbers:
        """The places from `first` to `end` where an n-gram begins both of whose parts, one word shorter, have numbers.

        `numbers` has the number of the part that begins at each place, 0 where none does. For n = 1 it has words.
        """
        end = len(numbers) if end is None else end
        if order == 1:
            return np.arange(first, end)
        # No n-gram of two words or more begins at the very last place.
        end = min(end, len(numbers) - 1)
        begins = (numbers[first:end] > 0) & (numbers[first + 1 : end + 1] > 0)
        if order == 2:
            # Of longer ones both parts lie in one caption already, and so do they.
            ends = self.captions.word_starts
            low, high = np.searchsorted(ends, [first + 1, end + 1])
            begins[ends[low:high] - 1 - first] = False
        return np.flatnonzero(begins) + first


@dataclass(frozen=True)
class NGrams:
    """The n-grams of some places, sorted: those that are equal stand together, in the order of captions.

    Whatever is asked for by place comes in the order of the places, so that it is written to memory in one sweep.

    - `places`: shape (n_places,): ascending.
    - `order`: shape (n_places,): what sorts the places.
    - `starts`: shape (n_grams,): where in `order` the places of each n-gram begin.
    - `entries`: shape (n_entries,): where in `order` the places of each n-gram and caption begin.
    - `gram`, `caption` and `often`: shape (n_entries,): of each entry the n-gram, by its index; the caption; and how
      often the caption has it.
    - `continues`: shape (n_entries,): whether the entry before is of the same n-gram and image.
    - `is_candidate`: shape (n_entries,).
    """

    places: Numbers
    order: Numbers
    starts: Numbers
    entries: Numbers
    gram: Numbers
    caption: SmallNumbers
    often: Numbers
    continues: Flags
    is_candidate: Flags

    @cached_property
    def sizes(self) -> Numbers:
        """How many places each n-gram has."""
        return np.diff(self.starts, append=len(self.places))

    def documents(self) -> Numbers:
        """In how many images' references each n-gram stands."""
        first_of_image = ~(self.continues | self.is_candidate)
        return np.bincount(self.gram.compress(first_of_image), minlength=len(self.starts))

    def matches(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Pairs of entries of one image, a candidate's and a reference's: one reference of each image at a time."""
        ours = np.flatnonzero(self.is_candidate & self.continues)
        theirs = ours - 1
        while len(ours):
            yield ours, theirs
            more = self.continues[theirs]
            ours, theirs = ours[more], theirs[more] - 1

    def first_places(self) -> Numbers:
        """One place of each n-gram, shape (n_grams,)."""
        return self.places.take(self.order.take(self.starts))

    def by_place(self, of_n_grams: SmallNumbers) -> SmallNumbers:
        """What each n-gram has, at each of its places; shape (n_places,)."""
        spread = np.empty(len(self.places), dtype=of_n_grams.dtype)
        spread[self.order] = of_n_grams.repeat(self.sizes)
        return spread

    def by_first_place(self, of_entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each entry has, at the first of its places, and 0 at the others; shape (n_places,)."""
        spread = np.zeros(len(self.places), dtype=of_entries.dtype)
        spread[self.order.take(self.entries)] = of_entries
        return spread


def numbered(kept: Flags) -> SmallNumbers:
    """Numbers from 1 for what is kept, 0 for the rest."""
    return np.where(kept, kept.cumsum(dtype=np.int32), np.int32(0))


def gather(about: WordPlaces, places: Numbers, before: SmallNumbers, last: SmallNumbers) -> NGrams:
    """The n-grams at `places`, ascending, each given by a number for all its words but the last, and the last."""
    order, new_gram = _sorted(before, last)
    caption_of_place = about.caption_of.take(places)
    side_of_place = about.side_of.take(caption_of_place)
    caption = caption_of_place.take(order)
    new_entry = new_gram.copy()
    new_entry[1:] |= caption[1:] != caption[:-1]
    entries = np.flatnonzero(new_entry)
    side = side_of_place.take(order.take(entries))
    image = side >> 1
    new_gram_entry = new_gram.take(entries)
    continues = ~new_gram_entry
    continues[1:] &= image[1:] == image[:-1]
    return NGrams(
        places=places,
        order=order,
        starts=np.flatnonzero(new_gram),
        entries=entries,
        gram=new_gram_entry.cumsum() - 1,
        caption=caption.take(entries),
        often=np.diff(entries, append=len(places)),
        continues=continues,
        is_candidate=(side & 1).astype(bool),
    )


def _sorted(before: SmallNumbers, last: SmallNumbers) -> tuple[Numbers, Flags]:
    """The stable order of the pairs, and where in it a new pair begins."""
    if not len(before):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    last_bits, place_bits = int(last.max()).bit_length(), len(before).bit_length()
    least = before.min()
    keys = (before - least).astype(np.uint64)
    keys <<= np.uint64(last_bits)
    keys |= last.astype(np.uint64)
    if int(before.max() - least).bit_length() + last_bits + place_bits <= KEY_BITS:
        # Sorting numbers alone is many times faster than finding out their order, so each carries its place.
        keys <<= np.uint64(place_bits)
        keys |= np.arange(len(keys), dtype=np.uint64)
        keys.sort()
        order = (keys & np.uint64((1 << place_bits) - 1)).view(np.int64)
        keys >>= np.uint64(place_bits)
    else:
        order = keys.argsort(kind="stable")
        keys = keys[order]
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return order, new


def sweep(
    about: WordPlaces, use: Callable[[int, SmallNumbers, NGrams], Found], *, only_repeated: bool, workers: int
) -> Iterator[tuple[int, Found]]:
    """Give `use` all n-grams of all captions, order after order and part by part; yields each order and what it found.

    `use` is called with the order, for each place the number of the n-gram one shorter that begins there, and the
    n-grams. A part has all places of its n-grams, so that memory is bounded although they are counted everywhere.

    - `only_repeated`: leave out most n-grams that stand in one place only: those whose first or last words do so
      already.
    """
    numbers = about.captions.words
    for order in ORDERS:
        next_numbers = np.zeros(len(numbers), dtype=np.int32)
        done = 0
        job = partial(_part_of_sweep, about, use, order, numbers, only_repeated)
        parts = _parts(about, order, numbers, at_least=workers)
        for repeated, here, of_these in side_by_side(job, parts, workers=workers):
            next_numbers[here] = np.where(of_these, of_these + np.int32(done), np.int32(0))
            done += int(of_these.max(initial=0))
            yield order, repeated
        numbers = next_numbers


def _part_of_sweep(
    about: WordPlaces,
    use: Callable[[int, SmallNumbers, NGrams], Found],
    order: int,
    numbers: SmallNumbers,
    only_repeated: bool,
    places: Numbers,
) -> tuple[Found, Numbers, SmallNumbers]:
    last = about.captions.words.take(places + (order - 1)) if order > 1 else np.zeros(len(places), dtype=np.int32)
    n_grams = gather(about, places, numbers.take(places), last)
    kept = n_grams.sizes > 1 if only_repeated else np.ones(len(n_grams.starts), dtype=bool)
    return use(order, numbers, n_grams), places, n_grams.by_place(numbered(kept))


def _parts(about: WordPlaces, order: int, numbers: SmallNumbers, *, at_least: int) -> Iterator[Numbers]:
    """Where n-grams begin, by ranges of `numbers`, so that what is equal stays together; at least one part."""
    many = min(MAX_PARTS, max(at_least, -(-len(numbers) // PLACES_AT_ONCE)))
    if many == 1 or not len(numbers):
        yield about.beginnings(order, numbers)
        return
    # np.bincount would make wider copies of all numbers.
    counts = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    np.add.at(counts, numbers, 1)
    counts[0] = 0
    part_of_number = ((counts.cumsum() - counts) * many // max(1, int(counts.sum()))).astype(np.uint8)
    pieces: list[list[Numbers]] = [[] for _ in range(many)]
    for first in range(0, len(numbers), PLACES_AT_ONCE):
        places = about.beginnings(order, numbers, first, min(first + PLACES_AT_ONCE, len(numbers)))
        part = part_of_number.take(numbers.take(places))
        by_part = places.take(part.argsort(kind="stable"))
        ends = np.bincount(part, minlength=many).cumsum()
        for of_part, piece in zip(pieces, np.split(by_part, ends[:-1]), strict=True):
            of_part.append(piece)
    while pieces:
        yield np.concatenate(pieces.pop(0))
