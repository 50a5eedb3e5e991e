"""In how many images' references each n-gram stands."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.encoding import EncodedCaptions, encode
from crosslens_metrics.formats.arrays import ArchiveRefusedError, opened_arrays
from crosslens_metrics.n_grams import ORDERS, NGrams, SmallNumbers, WordPlaces, sweep
from crosslens_metrics.vocabulary import Numbers, to_bytes

FORMAT = 1
SIGNATURE_LENGTH = 16
_Rows = tuple[SmallNumbers, SmallNumbers, Numbers]


@dataclass(eq=False)
class DocumentFrequencies:
    """Document frequencies of a corpus of references, for `cider` and `cider_d`.

    Made by `from_references`, `from_counts` or `load`. Words have numbers from 1 in the order of their UTF-8; an n-gram
    is a pair of numbers, of the n-gram without its last word (0 for n = 1) and of its last word, and has itself the
    number of its row, from 1. Rows ascend.

    Attributes
    ----------
    documents : int
        Images of the corpus.
    words : tuple of str
    before, last, counts : tuple of four ndarrays of int, of shape (n_grams_of_order,)
        For n = 1 to 4.
    text : str
        How the texts became tokens (`crosslens_metrics.text.text_version`), or empty where that is not known. The
        signature does not have it: it is of the tokens themselves.
    """

    documents: int
    words: tuple[str, ...]
    before: tuple[SmallNumbers, ...]
    last: tuple[SmallNumbers, ...]
    counts: tuple[Numbers, ...]
    text: str = field(default="", kw_only=True)

    @classmethod
    def from_references(cls, references: Sequence[Sequence[str]], *, workers: int = 1, text: str = "") -> Self:
        """Count the n-grams of the references of each image.

        Raises
        ------
        ValueError
            No image, or an image without a reference.
        """
        captions = encode([""] * len(references), references)
        tables: list[list[_Rows]] = [[] for _ in ORDERS]

        def read(order: int, numbers: SmallNumbers, n_grams: NGrams) -> _Rows:
            firsts = n_grams.first_places()
            before = numbers[firsts] if order > 1 else np.zeros(len(firsts), dtype=np.int32)
            return before, captions.words[firsts + order - 1], n_grams.documents()

        for order, rows in sweep(WordPlaces(captions), read, only_repeated=False, workers=workers):
            tables[order - 1].append(rows)
        joined = [_joined(rows) for rows in tables]
        seen = np.unique(captions.words)
        frequencies = cls._ordered(len(references), captions.vocabulary.words(seen.tolist()), seen, joined)
        frequencies.text = text
        return frequencies

    @classmethod
    def from_counts(cls, documents: int, counts: Mapping[tuple[str, ...], float]) -> Self:
        """From what other tools keep: in how many of so many documents each n-gram, a tuple of 1 to 4 words, stands.

        What has the count 0 is left out.

        Raises
        ------
        ValueError
            A count that is not whole, an n-gram of another length, or one whose first words are not there.
        """
        kept = {gram: int(count) for gram, count in counts.items() if count > 0}
        odd = next((gram for gram in kept if len(gram) not in ORDERS or counts[gram] != kept[gram]), None)
        if odd is not None:
            raise ValueError(
                f"{odd} has the count {counts[odd]}: give whole counts of n-grams of 1 to {ORDERS[-1]} words."
            )
        words = sorted({word for gram in kept for word in gram}, key=to_bytes)
        number_of = {word: number for number, word in enumerate(words, start=1)}
        rows_of: dict[tuple[str, ...], int] = {(): 0}
        tables: list[_Rows] = []
        for order in ORDERS:
            grams = [gram for gram in kept if len(gram) == order]
            absent = next((gram for gram in grams if gram[:-1] not in rows_of), None)
            if absent is not None:
                raise ValueError(f"{absent} is among the counts, but {absent[:-1]} is not: give the counts of all.")
            grams.sort(key=lambda gram: (rows_of[gram[:-1]], number_of[gram[-1]]))
            before = np.array([rows_of[gram[:-1]] for gram in grams], dtype=np.int32)
            last = np.array([number_of[gram[-1]] for gram in grams], dtype=np.int32)
            tables.append((before, last, np.array([kept[gram] for gram in grams], dtype=np.int64)))
            rows_of = {gram: row for row, gram in enumerate(grams, start=1)}
        frequencies = cls(documents, tuple(words), *zip(*tables, strict=True))
        frequencies._check("The counts given")
        return frequencies

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file written by `save`.

        Raises
        ------
        ValueError
            Not such a file, or of a format to come.
        """
        try:
            with opened_arrays(path) as file:
                version, documents = int(file["format"]), int(file["documents"])
                together = file["words"].tobytes()
                encoded = _unpacked(together, file["word_lengths"])
                words = tuple(word.decode("utf-8", "surrogatepass") for word in encoded)
                text = str(file["text"]) if "text" in file else ""
                tables = [tuple(file[f"{name}_{n}"] for n in ORDERS) for name in ("before", "last", "counts")]
        except ArchiveRefusedError as error:
            raise ValueError(f"{path}: {error}") from error
        except (BadZipFile, KeyError, EOFError, RuntimeError, TypeError, ValueError, zlib.error) as error:
            message = f"{path} does not hold document frequencies: write one by DocumentFrequencies.save."
            raise ValueError(message) from error
        if version != FORMAT:
            raise ValueError(f"{path} is of format {version}: this version reads format {FORMAT}.")
        frequencies = cls(documents, words, *tables, text=text)
        frequencies._check(str(path))
        return frequencies

    def save(self, path: Path) -> None:
        """Write a NumPy archive (.npz) without pickled objects; docs/metrics.md describes it."""
        encoded = [word.encode("utf-8", "surrogatepass") for word in self.words]
        columns: dict[str, tuple[NDArray[Any], ...]] = {"before": self.before, "last": self.last, "counts": self.counts}
        tables: dict[str, NDArray[Any]] = {f"{name}_{n}": rows[n - 1] for name, rows in columns.items() for n in ORDERS}
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                format=np.int64(FORMAT),
                documents=np.int64(self.documents),
                words=np.frombuffer(b"".join(encoded), dtype=np.uint8),
                word_lengths=np.array([len(word) for word in encoded], dtype=np.int32),
                text=np.str_(self.text),
                **tables,
            )

    @cached_property
    def signature(self) -> str:
        """Sixteen hexadecimal digits: the same for the same documents, n-grams and counts, wherever they come from."""
        digest = sha256(f"document frequencies {FORMAT}, {self.documents} documents".encode())
        for word in self.words:
            encoded = word.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(encoded), encoded))
        for tables, kind in ((self.before, "<i4"), (self.last, "<i4"), (self.counts, "<i8")):
            for table in tables:
                digest.update(b"|%d:" % len(table))
                digest.update(table.astype(kind).tobytes())
        return digest.hexdigest()[:SIGNATURE_LENGTH]

    def lookup(self, captions: EncodedCaptions) -> CountLookup:
        """The frequencies by the numbers that words have in `captions`."""
        return CountLookup(self, captions)

    @classmethod
    def _ordered(cls, documents: int, words: Sequence[str], numbers: SmallNumbers, tables: Sequence[_Rows]) -> Self:
        """From tables whose words have the given `numbers`, ascending by these."""
        by_text = sorted(range(len(words)), key=lambda place: to_bytes(words[place]))
        new_number = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int32)
        new_number[numbers[by_text]] = np.arange(1, len(words) + 1, dtype=np.int32)
        new_row, ordered = np.zeros(1, dtype=np.int32), []
        for before, last, counts in tables:
            before, last = new_row[before], new_number[last]
            rows = np.lexsort((last, before))
            new_row = np.zeros(len(rows) + 1, dtype=np.int32)
            new_row[rows + 1] = np.arange(1, len(rows) + 1, dtype=np.int32)
            ordered.append((before[rows], last[rows], counts[rows]))
        return cls(documents, tuple(words[place] for place in by_text), *zip(*ordered, strict=True))

    def _check(self, where: str) -> None:
        """Raise a ValueError where the tables cannot be what they are said to be."""
        known = 0
        sound = self.documents > 0
        for before, last, counts in zip(self.before, self.last, self.counts, strict=True):
            sound = sound and before.shape == last.shape == counts.shape == (len(before),)
            if sound and len(before):
                keys = before.astype(np.int64) * (len(self.words) + 1) + last
                sound = bool((np.diff(keys) > 0).all()) and last.min() > 0 and last.max() <= len(self.words)
                sound = sound and before.min() >= min(known, 1) and before.max() <= known
                sound = sound and bool((counts > 0).all())
            known = len(before)
        if not sound:
            raise ValueError(f"{where}: these document frequencies do not fit together, or are damaged.")


class CountLookup:
    """Finds the counts of the n-grams of a sweep that leaves none out, order after order."""

    def __init__(self, frequencies: DocumentFrequencies, captions: EncodedCaptions) -> None:
        self._frequencies = frequencies
        self._captions = captions
        numbers = captions.vocabulary.numbers_of(frequencies.words)
        self._stored_word = np.zeros(len(captions.vocabulary), dtype=np.int32)
        self._stored_word[numbers] = np.arange(1, len(numbers) + 1, dtype=np.int32)
        # For n and n - 1 in turn, the row of the n-gram that begins at each place; 0 where it is not stored.
        self._rows = [np.zeros(len(captions.words), dtype=np.int32) for _ in range(2)]
        self._keys = [self._table_keys(order) for order in ORDERS]

    def counts(self, order: int, n_grams: NGrams) -> Numbers:
        """The stored counts, 0 for what is not stored; shape (n_grams,). Parts of an order may be asked for at once."""
        firsts = n_grams.first_places()
        last = self._stored_word.take(self._captions.words[firsts + order - 1])
        rows = self._rows_of(order, self._rows[(order - 1) % 2][firsts], last)
        self._rows[order % 2][n_grams.places] = n_grams.by_place(rows)
        counts = np.concatenate(([0], self._frequencies.counts[order - 1]))
        return np.asarray(counts[rows])

    def _rows_of(self, order: int, before: SmallNumbers, last: SmallNumbers) -> SmallNumbers:
        rows = np.zeros(len(last), dtype=np.int32)
        keys = self._keys[order - 1]
        if not len(keys):
            return rows
        asked = np.flatnonzero((last > 0) & (before > 0)) if order > 1 else np.flatnonzero(last)
        wanted = before[asked].astype(np.int64) * (len(self._frequencies.words) + 1) + last[asked]
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        stored = keys[places] == wanted
        rows[asked[stored]] = places[stored] + 1
        return rows

    def _table_keys(self, order: int) -> Numbers:
        before, last = self._frequencies.before[order - 1], self._frequencies.last[order - 1]
        return before.astype(np.int64) * (len(self._frequencies.words) + 1) + last


def _unpacked(text: bytes, lengths: NDArray[np.int32]) -> list[bytes]:
    ends = lengths.cumsum(dtype=np.int64).tolist()
    return [text[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def _joined(parts: Sequence[_Rows]) -> _Rows:
    before, last, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return before, last, counts
