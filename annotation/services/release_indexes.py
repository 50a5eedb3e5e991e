"""Find the index of a release beside its files; one that has none yet is given it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from django.core.files.storage import default_storage

from annotation.formats.release_index import write_index
from annotation.models import Release
from images.services import file_storage

NEEDED = ("images.jsonl", "captions.jsonl")


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
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent)
        os.close(handle)
        _copy(_name(release), Path(unfinished))
        Path(unfinished).replace(path)
    return path


def _copy(name: str, path: Path) -> None:
    with default_storage.open(name) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _name(release: Release) -> str:
    return f"{release.folder}.sqlite3"
