"""Cache on this machine vectors that lie in object storage or can be computed again.

A file is named by a digest of what it holds, so that it is never out of date. Those that were not used for longest go
when there are too many; whoever has one open goes on reading it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

MAX_BYTES = 16 << 30
UNFINISHED = ".unfinished-"
ABANDONED_AFTER_S = 24 * 3600


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return the file of this name; `make` writes it if it is missing. It is never read half-written."""
    path = folder() / name
    try:
        os.utime(path)
        return path
    except FileNotFoundError:
        handle, unfinished = tempfile.mkstemp(dir=folder(), prefix=UNFINISHED)
        os.close(handle)
    try:
        make(Path(unfinished))
        Path(unfinished).replace(path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    _tidy(keep=path)
    return path


def working_file() -> Path:
    """Create an empty temporary file; the caller removes it."""
    handle, path = tempfile.mkstemp(dir=folder(), prefix=UNFINISHED)
    os.close(handle)
    return Path(path)


def folder() -> Path:
    path = Path(settings.VAR) / "vectors-cache"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _tidy(*, keep: Path) -> None:
    now, total = time.time(), 0
    files = []
    for path in folder().iterdir():
        # Another process may tidy too.
        with suppress(FileNotFoundError):
            stat = path.stat()
            if path.name.startswith(UNFINISHED):
                if stat.st_mtime < now - ABANDONED_AFTER_S:
                    path.unlink()
                continue
            total += stat.st_size
            if path != keep:
                files.append((stat.st_mtime, stat.st_size, path))
    for _used, size, path in sorted(files):
        if total <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
