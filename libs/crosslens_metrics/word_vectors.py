"""Word vectors in a folder of files: a table that takes no memory to have open, and how near two of its words are."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float32]

MATRIX, WORDS, MANIFEST = "matrix.npy", "words.sqlite", "manifest.json"
LAYOUT = 1
"""Raised when the files are laid out in another way, so that a signature always means one reading."""
ROWS_AT_ONCE = 4_096
INDEX_CACHE_KIB = 512
MAX_WORD_CHARACTERS = 200
"""Nothing longer is looked for."""


class WordVectorSource(Protocol):
    """Whatever gives words a direction: a table of them, or a model that makes vectors for any word."""

    @property
    def signature(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def vector(self, word: str) -> Vector | None: ...

    def vector_as_spelt(self, word: str) -> Vector | None: ...

    def similarity(self, one: str, other: str) -> float | None: ...


class MalformedTableError(Exception):
    """The files of a table are not there, or are not those that were written."""


class VectorError(ValueError):
    """A word or its vector cannot be in a table; `number` counts what was added, from 1."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


def cosine_similarity(one: ArrayLike, other: ArrayLike) -> float:
    """The cosine of the angle between two vectors, cut to [0, 1].

    Parameters
    ----------
    one, other : array_like of float, shape (dimensions,)
        Neither may be zero throughout.

    Returns
    -------
    float
        Dimensionless; 1 is the same direction, 0 a right angle or more.
    """
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), 0.0, 1.0))


def similarity_in(vectors: WordVectorSource, one: str, other: str) -> float | None:
    """How near two words are, or None where one of them has no vector."""
    a, b = vectors.vector(one), vectors.vector(other)
    return None if a is None or b is None else cosine_similarity(a, b)


def plain_word(word: str) -> str:
    """A word as it is looked for: composed (NFC), trimmed; empty where it is too long to be one."""
    # JSON can smuggle in half a character, which no database takes.
    whole = word.encode(errors="ignore").decode()
    plain = " ".join(unicodedata.normalize("NFC", whole).split())
    return plain if len(plain) <= MAX_WORD_CHARACTERS else ""


def spellings(word: str) -> list[str]:
    """Under which keys a word is looked for, in this order: as it is, small, folded, Capitalised, Title Case, CAPITALS.

    Each also with underscores for spaces, as word2vec writes phrases.
    """
    plain = plain_word(word)
    if not plain:
        return []
    cases = (plain, plain.lower(), plain.casefold(), plain.capitalize(), plain.title(), plain.upper())
    return list(dict.fromkeys(key for case in cases for key in (case, case.replace(" ", "_"))))


@dataclass(frozen=True)
class VectorsManifest:
    """What stands beside the two files; `signature` follows from the content, not from how it was written."""

    layout: int
    language: str
    dimensions: int
    words: int
    words_sha256: str
    matrix_sha256: str
    matrix_bytes: int
    index_bytes: int

    @property
    def signature(self) -> str:
        content = {key: value for key, value in asdict(self).items() if not key.endswith("_bytes")}
        return signature_of({"kind": "table", **content})


def signature_of(content: dict[str, Any]) -> str:
    """A SHA-256 over what makes vectors the same, in one spelling."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class WordVectors:
    """A table that is open for reading, from as many threads as there are.

    Rows are read from the file when they are asked for. Pages of a mapped matrix would count as memory of the process,
    64 KiB around each row that was ever read.
    """

    def __init__(self, folder: Path, manifest: VectorsManifest) -> None:
        self.signature = manifest.signature
        self.dimensions = manifest.dimensions
        self._words = manifest.words
        mapped = np.load(folder / MATRIX, mmap_mode="r")
        if mapped.shape != (manifest.words, manifest.dimensions) or mapped.dtype != np.dtype("<f4"):
            raise MalformedTableError(
                f"{folder / MATRIX} holds a matrix other than {MANIFEST} says. Import the vectors again."
            )
        self._start = mapped.offset
        self._matrix = (folder / MATRIX).open("rb", buffering=0)
        self._index_address = f"{(folder / WORDS).absolute().as_uri()}?mode=ro&immutable=1"
        self._of_thread = threading.local()

    def __len__(self) -> int:
        return self._words

    def vector(self, word: str) -> Vector | None:
        """The vector of a word in the first of its `spellings` that the table has, or None."""
        return self._vector_of(spellings(word))

    def vector_as_spelt(self, word: str) -> Vector | None:
        """The vector of a word in no other spelling, or None."""
        return self._vector_of([plain_word(word)])

    def _vector_of(self, keys: Sequence[str]) -> Vector | None:
        row = self._row(keys)
        if row is None:
            return None
        size = 4 * self.dimensions
        data = os.pread(self._matrix.fileno(), size, self._start + row * size)
        if len(data) < size:
            raise MalformedTableError(f"{self._matrix.name} ends before row {row}. Import the vectors again.")
        return np.frombuffer(data, dtype="<f4")

    def similarity(self, one: str, other: str) -> float | None:
        """Cosine cut to [0, 1], or None where one of the words has no vector."""
        return similarity_in(self, one, other)

    def _row(self, keys: Sequence[str]) -> int | None:
        places = ", ".join("?" * len(keys))
        rows = dict(self._index().execute(f"SELECT word, row FROM words WHERE word IN ({places})", keys))  # noqa: S608
        return next((rows[key] for key in keys if key in rows), None)

    def _index(self) -> sqlite3.Connection:
        if not hasattr(self._of_thread, "index"):
            self._of_thread.index = sqlite3.connect(self._index_address, uri=True)
            self._of_thread.index.execute(f"PRAGMA cache_size = -{INDEX_CACHE_KIB}")
        index: sqlite3.Connection = self._of_thread.index
        return index


def read_manifest(folder: Path) -> VectorsManifest:
    """What is said of the table in `folder`, whose files have the sizes that they had when they were written.

    Raises
    ------
    MalformedTableError
    """
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        signature = said.pop("signature")
        manifest = VectorsManifest(**said)
        sizes = [(folder / name).stat().st_size for name in (MATRIX, WORDS)]
    except OSError as error:
        raise MalformedTableError(
            f"{error.filename} cannot be read ({error.strerror}). Import the vectors again."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MalformedTableError(
            f"{folder / MANIFEST} is not a manifest of word vectors. Import them again."
        ) from error
    if manifest.layout != LAYOUT or manifest.signature != signature:
        raise MalformedTableError(
            f"{folder / MANIFEST} was changed, or is of another version. Import the vectors again."
        )
    for name, there, written in zip((MATRIX, WORDS), sizes, (manifest.matrix_bytes, manifest.index_bytes), strict=True):
        if there != written:
            raise MalformedTableError(f"{folder / name} has {there} bytes, not {written}. Import the vectors again.")
    return manifest


def open_table(folder: Path) -> WordVectors:
    """Open what a `TableWriter` wrote, within milliseconds however large it is.

    Raises
    ------
    MalformedTableError
        Where files are gone, or have another size or manifest. `check_table` reads them through.
    """
    return WordVectors(folder, read_manifest(folder))


def check_table(folder: Path) -> VectorsManifest:
    """Read every byte of a table and compare it with its signature.

    Raises
    ------
    MalformedTableError
    """
    manifest = read_manifest(folder)
    mapped = np.load(folder / MATRIX, mmap_mode="r")
    matrix, words = hashlib.sha256(), hashlib.sha256()
    with (folder / MATRIX).open("rb") as file:
        file.seek(mapped.offset)
        while chunk := file.read(1 << 22):
            matrix.update(chunk)
    for word in _words_of(folder):
        words.update(word.encode() + b"\0")
    if matrix.hexdigest() != manifest.matrix_sha256:
        raise MalformedTableError(f"The numbers in {folder / MATRIX} were changed. Import the vectors again.")
    if words.hexdigest() != manifest.words_sha256:
        raise MalformedTableError(f"The words in {folder / WORDS} were changed. Import the vectors again.")
    return manifest


def _words_of(folder: Path) -> Iterator[str]:
    index = sqlite3.connect(f"{(folder / WORDS).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        for (word,) in index.execute("SELECT word FROM words ORDER BY row"):
            yield word
    except sqlite3.DatabaseError as error:
        raise MalformedTableError(f"{folder / WORDS} cannot be read ({error}). Import the vectors again.") from error
    finally:
        index.close()


class TableWriter:
    """Writes a table row by row, so that no more than some thousand rows are ever in memory.

    Of a word that comes twice the first vector is kept (`duplicates` counts the others). A vector of zeros has no
    direction and is left out (`zeros`).
    """

    def __init__(self, folder: Path, *, dimensions: int, language: str) -> None:
        self.folder, self.dimensions, self.language = folder, dimensions, language
        self.added = self.words = self.duplicates = self.zeros = 0
        self._waiting: list[tuple[str, ArrayLike]] = []
        self._matrix = (folder / MATRIX).open("wb")
        self._write_header()
        self._start = self._matrix.tell()
        self._hashes = hashlib.sha256(), hashlib.sha256()
        self._index = sqlite3.connect(folder / WORDS)
        # Nobody reads the file before it is whole, and a broken import is thrown away.
        self._index.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;"
            "CREATE TABLE words (word TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID;"
        )

    def add(self, word: str, vector: ArrayLike) -> None:
        """Put a word in.

        Raises
        ------
        VectorError
            For this word, or for one of the last few thousand before it.
        """
        self.added += 1
        if not word:
            raise VectorError(self.added, "there is no word before the numbers")
        size = len(vector)  # type: ignore[arg-type]
        if size != self.dimensions:
            raise VectorError(self.added, f"there are {size} numbers after {word[:40]!r}, not {self.dimensions}")
        self._waiting.append((unicodedata.normalize("NFC", word), vector))
        if len(self._waiting) == ROWS_AT_ONCE:
            self._flush()

    def finish(self) -> VectorsManifest:
        """Write what is missing.

        Raises
        ------
        VectorError
            Where there is no word at all, or one of the last was refused.
        """
        self._flush()
        if not self.words:
            raise VectorError(self.added, "no word has a vector other than zero")
        self._matrix.seek(0)
        self._write_header()
        if self._matrix.tell() != self._start:
            raise AssertionError("numpy leaves room in its header for the number of rows to grow")
        self._matrix.flush()
        os.fsync(self._matrix.fileno())
        self._index.commit()
        self.close()
        words, matrix = self._hashes
        manifest = VectorsManifest(
            layout=LAYOUT,
            language=self.language,
            dimensions=self.dimensions,
            words=self.words,
            words_sha256=words.hexdigest(),
            matrix_sha256=matrix.hexdigest(),
            matrix_bytes=(self.folder / MATRIX).stat().st_size,
            index_bytes=(self.folder / WORDS).stat().st_size,
        )
        said = {"signature": manifest.signature, **asdict(manifest)}
        (self.folder / MANIFEST).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        return manifest

    def close(self) -> None:
        self._matrix.close()
        self._index.close()

    def _write_header(self) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.words, self.dimensions)}
        np.lib.format.write_array_header_1_0(self._matrix, header)

    def _flush(self) -> None:
        if not self._waiting:
            return
        first = self.added - len(self._waiting) + 1
        with np.errstate(over="ignore"):
            block = np.array([vector for _word, vector in self._waiting], dtype="<f4")
        finite = np.logical_and.reduce(np.isfinite(block), axis=1)
        if not finite.all():
            place = int(np.argmin(finite))
            word = self._waiting[place][0]
            raise VectorError(first + place, f"a number after {word[:40]!r} is not finite")
        has_direction = np.logical_or.reduce(block, axis=1)
        kept = np.zeros(len(block), dtype=bool)
        for place, (word, _vector) in enumerate(self._waiting):
            if not has_direction[place]:
                self.zeros += 1
            elif self._index.execute("INSERT OR IGNORE INTO words VALUES (?, ?)", (word, self.words)).rowcount:
                kept[place] = True
                self.words += 1
                self._hashes[0].update(word.encode() + b"\0")
            else:
                self.duplicates += 1
        rows = block[kept].tobytes()
        self._hashes[1].update(rows)
        self._matrix.write(rows)
        self._waiting.clear()
