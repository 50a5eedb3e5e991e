"""Files and folders, opened to be sent."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

OnProgress = Callable[[int, int], None]
"""Called with the bytes sent so far, and all."""


def form_fields(answers: Mapping[str, object]) -> dict[str, str | list[str]]:
    """Fields of a form: a list is several of one name, a dictionary one for each part; what is None is not sent."""
    fields: dict[str, str | list[str]] = {}
    for name, value in answers.items():
        if isinstance(value, Mapping):
            fields |= {f"{name}.{part}": str(one) for part, one in value.items()}
        elif value is not None:
            fields[name] = [str(one) for one in value] if isinstance(value, list | tuple) else str(value)
    return fields


@contextmanager
def opened_files(paths: Sequence[Path], on_progress: OnProgress | None) -> Iterator[list[tuple[str, IO[bytes]]]]:
    """Open files, and folders as zip files, to be sent."""
    with ExitStack() as stack:
        opened: list[tuple[str, IO[bytes]]] = []
        for path in paths:
            if path.is_dir():
                opened.append((f"{path.resolve().name}.zip", stack.enter_context(_zipped(path))))
            else:
                opened.append((path.name, stack.enter_context(path.open("rb"))))
        if on_progress is not None:
            total = sum(file.seek(0, io.SEEK_END) for _name, file in opened)
            sent = _SentBytes(total, on_progress)
            opened = [(name, cast(IO[bytes], _CountedFile(file, sent))) for name, file in opened]
        yield opened


@contextmanager
def _zipped(folder: Path) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        # Images do not get smaller, and texts in folders are few.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder).as_posix())
        file.seek(0)
        yield file


class _SentBytes:
    """How much of some files has been read, and so sent."""

    def __init__(self, total: int, on_progress: OnProgress) -> None:
        self.done, self.total, self.on_progress = 0, total, on_progress

    def add(self, number: int) -> None:
        self.done += number
        self.on_progress(self.done, self.total)


class _CountedFile:
    """Counts what is read of a file, anew each time that it is sent again."""

    def __init__(self, file: IO[bytes], sent: _SentBytes) -> None:
        self._file, self._sent, self._read = file, sent, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._read += len(piece)
        self._sent.add(len(piece))
        return piece

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if (offset, whence) == (0, io.SEEK_SET) and self._read:
            self._sent.done -= self._read
            self._read = 0
        return self._file.seek(offset, whence)
