"""Open a file of text as the UTF-8 that it is, whether it was packed by gzip or saved as UTF-16."""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.messages import gettext as _

KEPT_IN_MEMORY_BYTES = 16 << 20
COPIED_BYTES = 1 << 20
GZIP = b"\x1f\x8b"


@contextmanager
def opened_text(path: Path) -> Iterator[IO[bytes]]:
    """The text of a file of this machine; see `plain_text`."""
    with path.open("rb") as file, plain_text(file) as text:
        yield text


@contextmanager
def plain_text(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """What a file holds as seekable UTF-8: itself, where it is that already.

    Raises FileRefusedError where it cannot be unpacked or decoded.
    """
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    if start.startswith(GZIP):
        with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as copy:
            _unpack(file, copy)
            with plain_text(copy) as text:
                yield text
    elif encoding := _utf16(start):
        with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as copy:
            _recode(file, copy, encoding)
            copy.seek(0)
            yield copy
    else:
        yield file


def _unpack(file: IO[bytes], copy: IO[bytes]) -> None:
    packed_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with gzip.open(file) as packed:
            copy_limited(packed, copy, most=limits.most_unpacked_bytes(packed_bytes))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileRefusedError(_("The file cannot be unpacked: it is incomplete. Fetch it again.")) from error


def copy_limited(packed: IO[bytes] | gzip.GzipFile, copy: IO[bytes], *, most: int) -> None:
    """Copy what unpacks to at most so many bytes.

    Raises FileRefusedError.
    """
    while chunk := packed.read(COPIED_BYTES):
        copy.write(chunk)
        if copy.tell() > most:
            reason = _("The file would unpack to more than %(limit)s times its size.")
            raise FileRefusedError(reason % {"limit": limits.MAX_TEXT_RATIO})


def _utf16(start: bytes) -> str:
    """The name of the encoding, or "" where it is none of two bytes to a character."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark the zeros of ASCII, with which JSON and tables begin, tell which byte comes first.
    is_long = len(start) == 4
    if is_long and start[1] == start[3] == 0 != start[0]:
        return "utf-16-le"
    return "utf-16-be" if is_long and start[0] == start[2] == 0 != start[1] else ""


def _recode(file: IO[bytes], copy: IO[bytes], encoding: str) -> None:
    try:
        # UTF-8 passes characters through that are no text by themselves; the readers tell their place.
        shutil.copyfileobj(codecs.EncodedFile(file, "utf-8", encoding, errors="strict"), copy, COPIED_BYTES)
    except UnicodeError as error:
        reason = _("The file is saved as UTF-16 and holds characters that are not valid. Save it as UTF-8.")
        raise FileRefusedError(reason) from error
