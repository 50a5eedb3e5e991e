"""Words to numbers and back, many at once, without a Python object for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

PIECE = 8  # bytes of a word that are looked at together
PIECE_TYPE = np.dtype("<u8")
FIRST_BYTES = np.array([(1 << 8 * many) - 1 for many in range(PIECE + 1)], dtype=np.uint64)
# Odd constants without structure, from the fractional part of the golden ratio and of the square root of 3.
MULTIPLIERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
MIN_TABLE_BITS = 12
FREE = 0
# The place of a zero byte in encoded words, since zeros fill a word's last piece. UTF-8 never has it.
ZERO_STAND_IN = b"\xff"


class WordNumbers:
    """Numbers for words, from 1.

    A word is cut into pieces of eight bytes. A table has the pairs (number of the pieces before, piece); they are found
    by hash and always compared in full, so that two words never share a number. The beginnings of a long word have
    numbers too, whether they are words or not.
    """

    def __init__(self) -> None:
        # The entry 0 is equal to nothing that can be asked for.
        self._before = np.full(1, np.iinfo(np.int32).max, dtype=np.int32)
        self._piece = np.zeros(1, dtype=np.uint64)
        self._table = np.zeros(1 << MIN_TABLE_BITS, dtype=np.int32)
        self._size = 1

    def __len__(self) -> int:
        """One more than the largest number given so far."""
        return self._size

    def numbers(self, data: bytes, starts: Numbers, lengths: Numbers) -> NDArray[np.int32]:
        """The numbers of words that lie in `data`; new words get new ones.

        Parameters
        ----------
        data : bytes
            UTF-8, zero bytes replaced by `ZERO_STAND_IN`, with eight bytes of anything at the end.
        starts, lengths : ndarray of int, shape (n_words,)
            In bytes.
        """
        pieces = np.ndarray(shape=(max(0, len(data) - PIECE + 1),), dtype=PIECE_TYPE, buffer=data, strides=(1,))
        first = pieces[starts] & FIRST_BYTES.take(np.minimum(lengths, PIECE))
        pairs = self._pairs(np.zeros(len(starts), dtype=np.int32), first)
        longer = np.flatnonzero(lengths > PIECE)
        done = PIECE
        while len(longer):
            left = np.minimum(lengths[longer] - done, PIECE)
            pairs[longer] = self._pairs(pairs[longer], pieces[starts[longer] + done] & FIRST_BYTES.take(left))
            done += PIECE
            longer = longer[lengths[longer] > done]
        return pairs

    def numbers_of(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of words given one by one; they may be empty or hold spaces."""
        encoded = [to_bytes(word) for word in words]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return self.numbers(b"".join([*encoded, bytes(PIECE)]), lengths.cumsum() - lengths, lengths)

    def words(self, numbers: Sequence[int]) -> list[str]:
        """What the numbers stand for."""
        return [self._word(number) for number in numbers]

    def _word(self, number: int) -> str:
        pieces: list[bytes] = []
        while number:
            pieces.append(self._piece[number].astype(PIECE_TYPE).tobytes().rstrip(b"\0"))
            number = int(self._before[number])
        return b"".join(reversed(pieces)).replace(ZERO_STAND_IN, b"\0").decode("utf-8", "surrogatepass")

    def _pairs(self, before: NDArray[np.int32], piece: NDArray[np.uint64]) -> NDArray[np.int32]:
        shuffled = _shuffle(before, piece)
        stored = self._table.take(self._places(shuffled))
        missed = np.flatnonzero((self._piece.take(stored) != piece) | (self._before.take(stored) != before))
        if len(missed):
            self._make_room(len(missed))
            stored[missed] = self._find_or_add(before[missed], piece[missed], self._places(shuffled[missed]))
        return stored

    def _find_or_add(self, before: NDArray[np.int32], piece: NDArray[np.uint64], places: Numbers) -> NDArray[np.int32]:
        """Go on from place to place until each pair has met itself or a free place to stand in."""
        numbers = np.zeros(len(places), dtype=np.int32)
        open_ = np.arange(len(places))
        while len(open_):
            entries = self._table.take(places)
            free = np.flatnonzero(entries == FREE)
            if len(free):
                # Several may want one place; the one whose mark stays gets it, and the others compare with it.
                self._table[places[free]] = -1 - free
                winners = free[self._table.take(places[free]) == -1 - free]
                added = self._size + np.arange(len(winners), dtype=np.int32)
                self._size += len(winners)
                self._before[added], self._piece[added] = before[open_[winners]], piece[open_[winners]]
                self._table[places[winners]] = added
                entries = self._table.take(places)
            same = (self._piece.take(entries) == piece[open_]) & (self._before.take(entries) == before[open_])
            numbers[open_[same]] = entries[same]
            open_, places = open_[~same], (places[~same] + 1) % len(self._table)
        return numbers

    def _make_room(self, more: int) -> None:
        """Let the arrays hold so many more, and keep the table at most half full."""
        most = self._size + more
        if most > len(self._before):
            room = max(most, 2 * len(self._before)) - len(self._before)
            self._before = np.concatenate((self._before, np.zeros(room, dtype=np.int32)))
            self._piece = np.concatenate((self._piece, np.zeros(room, dtype=np.uint64)))
        if 2 * most > len(self._table):
            self._table = np.zeros(1 << (2 * most).bit_length(), dtype=np.int32)
            self._put_back()

    def _put_back(self) -> None:
        numbers = np.arange(1, self._size, dtype=np.int32)
        places = self._places(_shuffle(self._before[1 : self._size], self._piece[1 : self._size]))
        while len(numbers):
            free = np.flatnonzero(self._table.take(places) == FREE)
            self._table[places[free]] = numbers[free]
            left = self._table.take(places) != numbers
            numbers, places = numbers[left], (places[left] + 1) % len(self._table)

    def _places(self, shuffled: NDArray[np.uint64]) -> Numbers:
        bits = len(self._table).bit_length() - 1
        return (shuffled >> np.uint64(64 - bits)).view(np.int64)


def to_bytes(text: str) -> bytes:
    """UTF-8 as a vocabulary reads it; lone surrogates, which some captions on the web hold, are kept."""
    return text.encode("utf-8", "surrogatepass").replace(b"\0", ZERO_STAND_IN)


def _shuffle(before: NDArray[np.int32], piece: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The pairs spread evenly over 64 bits, of which the upper ones say the place in the table."""
    mixed = (piece ^ (before.astype(np.uint64) << np.uint64(40))) * MULTIPLIERS[0]
    mixed ^= mixed >> np.uint64(32)
    mixed += before.astype(np.uint64)
    mixed *= MULTIPLIERS[1]
    return mixed
