"""Small versions of the images of a corpus, from the ZIP that was uploaded with it."""

from __future__ import annotations

import io

from PIL import UnidentifiedImageError

from corpora.models import CorpusBuild, FileRole
from corpora.selectors.corpus_folders import fetched
from images.rules import limits
from images.rules.archives import contents_of, open_zip
from images.rules.image_checks import ImageRefusedError, inspect
from images.rules.resizing import upright

SIDE = 320
"""Pixels of the shorter side."""


def thumbnail(build: CorpusBuild, file: str) -> bytes | None:
    """Return an image as WebP, or None if the corpus has no file of it that can be shown."""
    uploaded = build.files.filter(role=FileRole.IMAGES).first()
    if uploaded is None:
        return None
    try:
        with fetched(uploaded.stored).open("rb") as opened, open_zip(opened) as archive:
            entry = contents_of(archive).files.get(file)
            if entry is None or entry.file_size > limits.MAX_IMAGE_BYTES:
                return None
            content = io.BytesIO(archive.read(entry))
        inspect(content, name=file, size_bytes=entry.file_size)
        small, result = upright(content, side=SIDE), io.BytesIO()
    except (FileNotFoundError, ImageRefusedError, UnidentifiedImageError):
        return None
    small.save(result, "WEBP", quality=80)
    return result.getvalue()
