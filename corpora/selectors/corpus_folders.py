"""The files of a corpus in storage, as the steps of building it read and write them.

Where the storage is a folder of this machine, they work in it. From any other storage, files are fetched to a cache of
this machine, which is bounded; what is written there goes to the storage at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from corpora.models import CorpusBuild
from images.services import file_storage
from parallel_text.folder import Folder, LocalFolder

CACHE_BYTES = 20 << 30
COPY_BYTES = 1 << 20
UNFINISHED = ".unfinished-"
ABANDONED_AFTER_S = 24 * 3600
SCRATCH_KEPT_S = 7 * ABANDONED_AFTER_S


def folder_of(build: CorpusBuild, scratch: Path | None = None) -> Folder:
    """Open the files of a corpus.

    Parameters
    ----------
    build : CorpusBuild
    scratch : Path, optional
        A folder of this machine. What is read stays there until the caller deletes it, whatever leaves the cache.
    """
    try:
        return LocalFolder(Path(default_storage.path(f"{build.folder}/work")))
    except NotImplementedError:
        return StoredFolder(f"{build.folder}/work", scratch)


def forget_partial(build: CorpusBuild) -> None:
    """Delete what killed workers left half written. Nobody else may be writing."""
    with suppress(NotImplementedError):
        LocalFolder(Path(default_storage.path(f"{build.folder}/work"))).forget_partial()


def new_scratch() -> Path:
    """Make a folder for one job; those of killed workers go after some days."""
    folder = Path(settings.VAR) / "corpora-scratch"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - SCRATCH_KEPT_S:
                shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=folder))


class StoredFolder:
    """A folder in a storage that is not on this machine."""

    def __init__(self, place: str, scratch: Path | None = None) -> None:
        self.place = place
        self.scratch = scratch

    def read(self, name: str) -> Path:
        return fetched(f"{self.place}/{name}", scratch=self.scratch)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.scratch or cache(), prefix=UNFINISHED) as place:
            # Programs tell by the ending what is in a file.
            path = Path(place) / Path(name).name
            yield path
            with path.open("rb") as file:
                file_storage.put(f"{self.place}/{name}", file)

    def names(self, prefix: str) -> list[str]:
        top = "/".join([self.place, *prefix.split("/")[:-1]])
        names = (name.removeprefix(f"{self.place}/") for name in _all_names(top))
        return sorted(name for name in names if name.startswith(prefix))

    def remove(self, prefix: str) -> None:
        for name in self.names(prefix):
            default_storage.delete(f"{self.place}/{name}")


class GuardedFolder:
    """A folder that changes only as long as `check` raises nothing, so that who lost a lease writes no more."""

    def __init__(self, inner: Folder, check: Callable[[], None]) -> None:
        self.inner = inner
        self.check = check

    def read(self, name: str) -> Path:
        return self.inner.read(name)

    def writing(self, name: str) -> AbstractContextManager[Path]:
        return self._checked(name)

    @contextmanager
    def _checked(self, name: str) -> Iterator[Path]:
        with self.inner.writing(name) as path:
            yield path
            self.check()

    def names(self, prefix: str) -> list[str]:
        return self.inner.names(prefix)

    def remove(self, prefix: str) -> None:
        self.check()
        self.inner.remove(prefix)


def fetched(name: str, *, scratch: Path | None = None) -> Path:
    """Return the path of a file of the storage on this machine.

    Raises
    ------
    FileNotFoundError
    """
    try:
        path = Path(default_storage.path(name))
    except NotImplementedError:
        return _kept(_cached(name), Path(name).name, scratch)
    if not path.is_file():
        raise FileNotFoundError(path)
    return path


def cache() -> Path:
    path = Path(settings.VAR) / "corpora-cache"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _kept(path: Path, name: str, scratch: Path | None) -> Path:
    """Link a file of the cache into `scratch` under its own name, so that it stays there and programs know its kind."""
    if scratch is None:
        return path
    place = scratch / path.name
    place.mkdir(parents=True, exist_ok=True)
    link = place / name
    with suppress(FileExistsError):
        os.link(path, link)
    return link


def _cached(name: str) -> Path:
    if not default_storage.exists(name):
        raise FileNotFoundError(name)
    # A file that is written again is another one, even where the other is of the same size.
    state = f"{name}\0{default_storage.size(name)}\0{default_storage.get_modified_time(name).isoformat()}"
    path = cache() / hashlib.sha256(state.encode()).hexdigest()
    with suppress(FileNotFoundError):
        os.utime(path)
        return path
    handle, unfinished = tempfile.mkstemp(dir=cache(), prefix=UNFINISHED)
    try:
        with default_storage.open(name) as source, os.fdopen(handle, "wb") as target:
            while part := source.read(COPY_BYTES):
                target.write(part)
        Path(unfinished).replace(path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    _tidy(keep=path)
    return path


def _tidy(*, keep: Path) -> None:
    """Delete what was not used for longest, until the cache is small enough."""
    now, total, files = time.time(), 0, []
    for path in cache().iterdir():
        # Another process may tidy too.
        with suppress(FileNotFoundError):
            stat = path.stat()
            if path.name.startswith(".") and stat.st_mtime < now - ABANDONED_AFTER_S:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
            elif path.is_file() and not path.name.startswith("."):
                total += stat.st_size
                files.append((stat.st_mtime, stat.st_size, path))
    for _used, size, path in sorted(files):
        if total <= CACHE_BYTES:
            return
        if path != keep:
            path.unlink(missing_ok=True)
            total -= size


def _all_names(top: str) -> list[str]:
    """List the files below a folder of the storage."""
    try:
        folders, files = default_storage.listdir(top)
    except FileNotFoundError:
        return []
    names = [f"{top}/{name}" for name in files if name]
    for folder in folders:
        names += _all_names(f"{top}/{folder}")
    return names
