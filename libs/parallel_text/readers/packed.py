"""Open files that may be packed, without trusting what they say of themselves."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

from crosslens_metrics.formats import limits
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError

GZIP_START = b"\x1f\x8b"
BUFFER_BYTES = 1 << 20


@contextmanager
def opened(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file, unpacked if it is gzip; `name` is that in messages.

    Raises
    ------
    CorpusError
        Also while the file is read in the block.
    """
    with faults_of(name), path.open("rb") as file:
        start = file.read(len(GZIP_START))
        file.seek(0)
        if start != GZIP_START:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield limited_reader(unpacked, name, packed_bytes=path.stat().st_size)


@contextmanager
def faults_of(name: str) -> Iterator[None]:
    """Say which file it is that cannot be read or unpacked."""
    try:
        yield
    except (BadZipFile, gzip.BadGzipFile, EOFError, zlib.error, NotImplementedError) as error:
        raise CorpusError(
            _("%(file)s cannot be unpacked: it is incomplete or broken. Download it again.") % {"file": name}
        ) from error
    except OSError as error:
        raise CorpusError(
            _("%(file)s cannot be read: %(error)s.") % {"file": name, "error": error.strerror or error}
        ) from error


def limited_reader(file: IO[bytes] | gzip.GzipFile, name: str, *, packed_bytes: int) -> IO[bytes]:
    """Read from `file` until that would be more than packed text unpacks to."""
    return io.BufferedReader(_LimitedReader(file, name, limits.most_unpacked_bytes(packed_bytes)), BUFFER_BYTES)


class _LimitedReader(io.RawIOBase):
    def __init__(self, file: IO[bytes] | gzip.GzipFile, name: str, left_bytes: int) -> None:
        self._file, self._name, self._left_bytes = file, name, left_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            message = _("%(file)s would unpack to more than %(limit)s times its size, so it is not text.")
            raise CorpusError(message % {"file": self._name, "limit": limits.MAX_TEXT_RATIO})
        buffer[: len(data)] = data
        return len(data)
