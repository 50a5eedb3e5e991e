"""The files in storage: listing them, copying them with their checksums, restoring them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO

from django.core.files.storage import default_storage

from core.images.services import file_storage
from office.operations.services.readiness import PROBES_FOLDER

CHUNK_BYTES = 1 << 20
PASSING = ".unfinished-"
"""Files with this name are being written."""


def is_folder() -> bool:
    """Return whether storage is a folder of this machine, not a bucket."""
    try:
        default_storage.path("")
    except NotImplementedError:
        return False
    return True


def stored_names(folder: str = "") -> Iterator[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    prefix = f"{folder}/" if folder else ""
    for name in sorted(files):
        if name and not name.startswith(PASSING):
            yield prefix + name
    for name in sorted(folders):
        if prefix + name != PROBES_FOLDER:
            yield from stored_names(prefix + name)


def copy_out(name: str, to: Path, *, before: Path | None, sums: Mapping[str, str]) -> tuple[str, int] | None:
    """Copy a stored file; return its checksum and size, or None if it is gone by now.

    Files in storage are only added or replaced as a whole. A file that an earlier backup has, with the same size and
    time, is the same, and takes no space again.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        about = os.stat(default_storage.path(name)) if is_folder() else None  # noqa: PTH116 - a name of storage's
        if before is not None and about is not None and (known := sums.get(name)) and _is_same(before, about):
            os.link(before, to)
            return known, about.st_size
        with default_storage.open(name) as source, to.open("wb") as copy:
            digest, size = _copied(source, copy)
        if about is not None:
            os.utime(to, ns=(about.st_atime_ns, about.st_mtime_ns))
    except FileNotFoundError:
        to.unlink(missing_ok=True)
        return None
    return digest, size


def _is_same(before: Path, about: os.stat_result) -> bool:
    try:
        there = before.stat()
    except FileNotFoundError:
        return False
    return (there.st_size, there.st_mtime_ns) == (about.st_size, about.st_mtime_ns)


def _copied(source: IO[bytes], copy: IO[bytes]) -> tuple[str, int]:
    digest, size = sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        size += copy.write(chunk)
    return digest.hexdigest(), size


def checksum(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def put_back(name: str, path: Path) -> None:
    with path.open("rb") as file:
        file_storage.put(name, file)
