"""Storage that behaves like S3's: names without paths on this machine, and saving replaces."""

from __future__ import annotations

from typing import Any

from django.core.files.storage import FileSystemStorage, Storage


class ObjectStorage(Storage):
    def __init__(self, location: Any) -> None:
        self._inner = FileSystemStorage(location=location)

    def _open(self, name: str, mode: str = "rb") -> Any:
        return self._inner.open(name, mode)

    def _save(self, name: str, content: Any) -> str:
        return self._inner.save(name, content)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        self._inner.delete(name)
        return name

    def delete(self, name: str) -> None:
        self._inner.delete(name)

    def exists(self, name: str) -> bool:
        return self._inner.exists(name)

    def listdir(self, path: str) -> Any:
        try:
            return self._inner.listdir(path)
        except FileNotFoundError:
            # There are no folders, so that none is missing.
            return [], []
