"""Find the index of a release beside its files; one that has none yet is given it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.core.files.storage import default_storage

from annotation.formats.release_index import write_index
from annotation.models import Release
from core.images.services import file_storage

NEEDED = ("images.jsonl", "captions.jsonl")
COPIES_BYTES = 1_000_000_000
"""On one computer: about 20 releases of the size of Crossmodal-3600."""

IN_USE_S = 60.0
"""How long a copy that was asked for is kept, so that it can be opened."""

UNFINISHED, UNFINISHED_S = ".part", 3600.0
"""What copies that are being made end with, and after how long nobody makes them any more."""


def store_index(release: Release, folder: Path) -> None:
    """Make the index from the files in `folder` and store it."""
    with tempfile.TemporaryDirectory(prefix="crosslens-index-") as place:
        path = Path(place, "index.sqlite3")
        write_index(folder, path)
        with path.open("rb") as file:
            file_storage.put(_name(release), file)


def index_path(release: Release) -> Path:
    """Return the path of the index of a finished release on this computer.

    Raises
    ------
    FileNotFoundError
        If the files of the release are no longer in storage.
    """
    if not default_storage.exists(_name(release)):
        with tempfile.TemporaryDirectory(prefix="crosslens-index-") as place:
            for name in NEEDED:
                _copy(f"{release.folder}/{name}", Path(place, name))
            store_index(release, Path(place))
    try:
        return Path(default_storage.path(_name(release)))
    except NotImplementedError:  # object storage
        return _local_copy(release)


def _local_copy(release: Release) -> Path:
    path = Path(tempfile.gettempdir(), f"crosslens-{os.getuid()}", f"{release.checksum}.sqlite3")
    with suppress(FileNotFoundError):
        os.utime(path)
        return path
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=UNFINISHED)
    os.close(handle)
    try:
        _copy(_name(release), Path(unfinished))
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    _delete_oldest_copies(path)
    return path


def _delete_oldest_copies(newest: Path) -> None:
    """Keep the copies that were used last, as far as they fit, and no copy that a killed process began.

    A process that has the file open can still read it after it is deleted.
    """
    left_bytes = COPIES_BYTES - newest.stat().st_size
    for used_at, size_bytes, path in sorted(_files_beside(newest), reverse=True):
        if path.suffix == UNFINISHED:
            is_kept = used_at > time.time() - UNFINISHED_S
        else:
            left_bytes -= size_bytes
            is_kept = left_bytes >= 0 or used_at > time.time() - IN_USE_S
        if not is_kept:
            path.unlink(missing_ok=True)


def _files_beside(newest: Path) -> Iterator[tuple[float, int, Path]]:
    for path in newest.parent.iterdir():
        # Another process may delete the same ones.
        with suppress(FileNotFoundError):
            about = path.stat()
            if path != newest:
                yield about.st_mtime, about.st_size, path


def _copy(name: str, path: Path) -> None:
    with default_storage.open(name) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _name(release: Release) -> str:
    return f"{release.folder}.sqlite3"
