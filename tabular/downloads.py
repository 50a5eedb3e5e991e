"""Files written piece by piece, in constant memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

PIECE_BYTES = 1 << 16
JSON_LINES_TYPE = "application/jsonl; charset=utf-8"


def in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes, many in one piece: each piece costs a step of the server."""
    piece = bytearray()
    for line in lines:
        piece += line.encode()
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """Write the whole file or none: an export that breaks off leaves what was at `path` before."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(0o666 & ~_umask())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def as_iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp(moment: datetime) -> str:
    """For the name of a file, to the minute."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
