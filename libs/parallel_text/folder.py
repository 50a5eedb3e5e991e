"""The files of a corpus, by name: every step reads and writes them here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

PARTIAL = ".partial-"
"""How the name of a file begins that is still being written."""


class CorpusFolder:
    """Files by names such as `ingest/english/00000.parquet`. A name has its file whole, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> Path:
        """Return the path of a file.

        Raises
        ------
        FileNotFoundError
        """
        path = self.path / name
        if not path.is_file():
            raise FileNotFoundError(path)
        return path

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a path to write to; when the block ends without an error, the file has its name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes may write the same file, each its own copy; the endings tell programs what is in it.
        partial = path.with_name(f"{PARTIAL}{uuid4().hex}-{path.name}")
        try:
            yield partial
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def names(self, prefix: str) -> list[str]:
        """List the names that begin with `prefix`, sorted."""
        top = self.path / prefix.rpartition("/")[0]
        found = (path.relative_to(self.path).as_posix() for path in top.rglob("*") if _is_whole(path))
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, prefix: str) -> None:
        """Delete all files whose names begin with `prefix`."""
        if prefix.endswith("/"):
            shutil.rmtree(self.path / prefix, ignore_errors=True)
            return
        for name in self.names(prefix):
            (self.path / name).unlink(missing_ok=True)

    def forget_partial(self) -> None:
        """Delete what killed processes left half written. Nobody else may be writing."""
        for path in self.path.rglob(f"{PARTIAL}*"):
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(PARTIAL)
