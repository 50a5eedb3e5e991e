"""Reproducible archives: the same files give the same bytes, whenever they are packed."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

COMPRESSION = 6
NO_TIME = 0
MANIFEST = "manifest.json"
FILE_MODE = 0o644


class FileFacts(NamedTuple):
    name: str
    bytes: int
    sha256: str


def facts_of(folder: Path) -> list[FileFacts]:
    """List all files below a folder, by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [FileFacts(str(path.relative_to(folder).as_posix()), path.stat().st_size, sha256_of(path)) for path in paths]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def write_archive(path: Path, folder: Path, names: Sequence[str], *, within: str) -> None:
    """Pack files of a folder into `path`, a .tar.gz, in this order below a folder `within`, without times or owners."""
    # Given a name, gzip would write it into the header; given no time, it would use the clock.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=raw, mtime=NO_TIME) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in names:
            entry = tarfile.TarInfo(f"{within}/{name}")
            entry.size, entry.mode, entry.mtime = (folder / name).stat().st_size, FILE_MODE, NO_TIME
            with (folder / name).open("rb") as file:
                archive.addfile(entry, file)
