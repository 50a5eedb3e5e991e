"""Name, write, read and delete stored files. A file appears under its name only when it is complete."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage

from core.images.models import Image
from core.images.rules.sizes import sizes_of

CHUNK_BYTES = 1 << 20


def original_name(sha256: str) -> str:
    return f"originals/{sha256[:2]}/{sha256}"


def size_name(public_id: UUID, size: int) -> str:
    return f"sizes/{public_id.hex[:2]}/{public_id.hex}/{size}.webp"


def put(name: str, content: bytes | IO[bytes]) -> None:
    """Write `content` under exactly `name`, replacing what was there, in one step."""
    try:
        path = Path(default_storage.path(name))
    except NotImplementedError:  # object storage, which replaces in one step by itself
        default_storage.save(name, ContentFile(content) if isinstance(content, bytes) else File(content))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".unfinished-")
    try:
        with os.fdopen(handle, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                while chunk := content.read(CHUNK_BYTES):
                    file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def read_size(public_id: UUID, size: int) -> bytes | None:
    """Read a served size of an image (WebP), or None if it has not been made yet."""
    try:
        with default_storage.open(size_name(public_id, size)) as file:
            return file.read()
    except FileNotFoundError:
        return None


def largest_size(image: Image) -> bytes | None:
    """Read an image in the largest size that is served, or None if it has not been made."""
    return read_size(image.public_id, max(sizes_of(image.width, image.height)))


def remove_all(name: str) -> None:
    """Delete a file, or a folder with everything in it; it may be gone already. No name is no file."""
    if not name:
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        folders, files = default_storage.listdir(name)
        for file in filter(None, files):
            default_storage.delete(f"{name}/{file}")
        for folder in filter(None, folders):
            remove_all(f"{name}/{folder}")
    default_storage.delete(name)
