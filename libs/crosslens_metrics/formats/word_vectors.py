"""Word vectors from files in the formats of word2vec and GloVe, which gensim reads."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from crosslens_metrics.formats import limits
from crosslens_metrics.word_vectors import (
    MANIFEST,
    TableWriter,
    VectorError,
    WordVectorSource,
    open_table,
    read_manifest,
)

MAX_DIMENSIONS = 10_000
MAX_LINE_BYTES = 1 << 20
FIRST_BYTES, FIRST_NUMBERS = 1 << 16, 3
WriterOf = Callable[[int], TableWriter]
"""Makes the writer, once it is known how many numbers a word has."""


class FileFormat(StrEnum):
    WORD2VEC = "word2vec"
    WORD2VEC_BINARY = "word2vec-binary"
    GLOVE = "glove"


class WordVectorFileError(Exception):
    """Word vectors cannot be imported, and why."""


@dataclass
class _ReadingProgress:
    """How far gensim has come."""

    path: Path
    file_format: FileFormat
    writer: TableWriter | None = None
    announced: int = 0
    seen: int = 0
    bytes_read: int = 0

    @property
    def has_header(self) -> bool:
        return self.file_format != FileFormat.GLOVE

    def place(self, number: int) -> str:
        if self.file_format == FileFormat.WORD2VEC_BINARY:
            return f"{self.path}, word {number}"
        return f"{self.path}, line {number + self.has_header}"


def vectors_in(path: Path, *, language: str, copy_to: Path) -> WordVectorSource | None:
    """Open the word vectors at a path: the folder of a table, or a file, which is copied to a table first.

    - `path`: of a folder that `crosslens_metrics.word_vectors.TableWriter` wrote, or of a word2vec or GloVe file (.gz
      too).
    - `language`: tag of the file's language, which the table keeps.
    - `copy_to`: folder of the table. It is made, or holds the same vectors already.
    - returned: None where there is nothing of the kind.

    Raises WordVectorFileError where the file cannot be read, or `copy_to` holds other vectors. Raises
    crosslens_metrics.word_vectors.MalformedTableError.
    """
    if not path.is_file():
        return open_table(path) if (path / MANIFEST).is_file() else None
    copy_to.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=copy_to.parent, prefix=".vectors-"))
    try:
        copy_file(
            path, format_of(path), lambda dimensions: TableWriter(unfinished, dimensions=dimensions, language=language)
        )
        if not copy_to.exists():
            unfinished.rename(copy_to)
        elif read_manifest(copy_to).signature != read_manifest(unfinished).signature:
            raise WordVectorFileError(f"{copy_to} holds other word vectors than {path}. Choose another folder.")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return open_table(copy_to)


def format_of(path: Path) -> FileFormat:
    """What a file seems to be: word2vec files begin with two whole numbers, those of text hold nothing but text.

    Raises WordVectorFileError where it cannot be unpacked.
    """
    try:
        with _opened(path) as file:
            first, second = file.readline(FIRST_BYTES), file.readline(FIRST_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WordVectorFileError(f"{path} cannot be unpacked ({error}). Fetch it again.") from error
    header = first.split()
    if len(header) != 2 or not all(part.isdigit() for part in header):
        return FileFormat.GLOVE
    # In a text the first word is followed by numbers that can be read, in a binary file by their bytes.
    numbers = second.split(b" ")[1:FIRST_NUMBERS]
    try:
        return FileFormat.WORD2VEC if [float(number) for number in numbers] else FileFormat.WORD2VEC_BINARY
    except ValueError:
        return FileFormat.WORD2VEC_BINARY


def copy_file(path: Path, file_format: FileFormat, writer_of: WriterOf) -> TableWriter:
    """Read a file once and write each vector on as it comes, so that no matrix is ever in memory.

    - `path`: may be packed (.gz).
    - `writer_of`: makes the writer, from how many numbers a word has.
    - returned: the writer, done.

    Raises WordVectorFileError with the line (of a binary file: the word), what is wrong there and what to do.
    """
    progress = _ReadingProgress(path, file_format)
    try:
        return _copy(progress, writer_of)
    except VectorError as refused:
        raise WordVectorFileError(f"{progress.place(refused.number)}: {refused.reason}.") from refused
    except EOFError as error:
        why = f"the file ends here, but its first line announces {progress.announced} words; fetch it again"
        raise WordVectorFileError(f"{progress.place(progress.seen + 1)}: {why}.") from error
    except UnicodeDecodeError as error:
        why = f"this is not UTF-8; is it a file in the format {file_format}?"
        raise WordVectorFileError(f"{progress.place(progress.seen + 1)}: {why}") from error
    except ValueError as error:
        if progress.writer is None and progress.has_header:
            why = "should be two whole numbers, how many words and how many numbers each; a GloVe file has no such line"
            raise WordVectorFileError(f"{path}, line 1 {why}.") from error
        why = f"{error}; a word and its numbers are parted by single spaces"
        raise WordVectorFileError(f"{progress.place(progress.seen + 1)}: {why}.") from error
    finally:
        if progress.writer is not None:
            progress.writer.close()


def _copy(progress: _ReadingProgress, writer_of: WriterOf) -> TableWriter:
    path, is_binary = progress.path, progress.file_format == FileFormat.WORD2VEC_BINARY
    size, lines = _extent(path, is_text=not is_binary)
    if not size:
        raise WordVectorFileError(f"{path} is empty.")
    _through(progress, writer_of).load_word2vec_format(str(path), binary=is_binary, no_header=not progress.has_header)
    follow = lines - progress.has_header
    if not is_binary and progress.announced != follow:
        raise WordVectorFileError(f"{path}, line 1 announces {progress.announced} words, but {follow} lines follow.")
    # Some programs end each vector with a line end, some do not.
    most = progress.bytes_read + progress.announced
    if is_binary and size - _first_line_bytes(path) > most:
        raise WordVectorFileError(f"{path} goes on after the {progress.announced} words that its first line announces.")
    if progress.writer is None:
        raise AssertionError("gensim makes its table before it reads a word")
    progress.writer.finish()
    return progress.writer


def _through(progress: _ReadingProgress, writer_of: WriterOf) -> Any:
    """A class for gensim to fill, which hands every vector on and keeps none."""
    from gensim.models import KeyedVectors

    class Through(KeyedVectors):  # type: ignore[misc, unused-ignore] # without gensim it is Any
        def __init__(self, vector_size: int | None, count: int, dtype: Any) -> None:
            size = vector_size or 0
            if not 1 <= size <= MAX_DIMENSIONS:
                line = f"{progress.path}, line 1"
                raise WordVectorFileError(
                    f"{line} tells of {size} numbers to a word; it must be 1 to {MAX_DIMENSIONS}."
                )
            self.vector_size = size
            self.next_index = 0
            # What gensim looks at when it is done, without taking memory.
            self.vectors = np.broadcast_to(np.zeros(1, dtype=dtype), (count, size))
            progress.announced = count
            progress.writer = self.writer = writer_of(size)

        def __len__(self) -> int:
            return len(self.vectors)

        def has_index_for(self, key: str) -> bool:
            return False

        def add_vector(self, key: str, vector: ArrayLike) -> int:
            self.writer.add(key, vector)
            self.next_index += 1
            progress.seen = self.next_index
            progress.bytes_read += len(key.encode()) + 1 + 4 * self.vector_size
            return self.next_index - 1

        def set_vecattr(self, key: str, attr: str, val: Any) -> None:
            """How often a word occurs is made up by gensim, and not kept."""

    return Through


def _extent(path: Path, *, is_text: bool) -> tuple[int, int]:
    """How many bytes there are, unpacked, and how many lines, where it is text."""
    size = lines = line_bytes = 0
    last = b"\n"
    most = limits.most_unpacked_bytes(path.stat().st_size)
    try:
        with _opened(path) as file:
            while chunk := file.read(MAX_LINE_BYTES):
                size += len(chunk)
                if size > most:
                    why = f"would unpack to more than {limits.MAX_TEXT_RATIO} times its size, which no vectors do"
                    raise WordVectorFileError(f"{path} {why}.")
                start = chunk.rfind(b"\n") + 1
                line_bytes = len(chunk) - start + (0 if start else line_bytes)
                # gensim would read it into memory whole.
                if line_bytes > MAX_LINE_BYTES and (is_text or not lines):
                    why = f"is longer than {MAX_LINE_BYTES >> 20} MB, so it is no word with its numbers"
                    raise WordVectorFileError(f"{path}, line {lines + 1} {why}.")
                lines += chunk.count(b"\n")
                last = chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WordVectorFileError(f"{path} cannot be unpacked ({error}). Fetch it again.") from error
    return size, lines + (not last.endswith(b"\n"))


def _first_line_bytes(path: Path) -> int:
    with _opened(path) as file:
        return len(file.readline(FIRST_BYTES))


def _opened(path: Path) -> IO[bytes]:
    """A file as it is unpacked.

    Raises WordVectorFileError.
    """
    # Takes a second to load, which only files of vectors need.
    try:
        from gensim import utils
    except ImportError as error:
        message = "Files of word vectors are read by gensim, which is not installed: pip install gensim==4.4.0."
        raise WordVectorFileError(message) from error
    opened: IO[bytes] = utils.open(str(path), "rb")
    return opened
