"""Captions with their images: shards of WebDataset, and a folder that `datasets` opens.

Images are as people saw them, which has no metadata, such as where they were taken. Those whose licence forbids copying
are left out of shards, and named with their source beside a folder.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, cast

from django.utils.translation import gettext as _

from annotation.formats.captions import images_with_captions
from annotation.selectors.caption_rows import IMAGE
from core.images.models import Image
from core.images.rules.attributions import FIELDS, may_be_copied
from core.images.services.file_storage import largest_size
from office.exports.formats.tables import pieces_of
from office.exports.selectors.tables import ExportError, ExportWish
from tabular.downloads import json_line

IMAGES_AT_ONCE = 100


@dataclass(frozen=True)
class ExportedImage:
    """An image, without content if it must not be copied, and what is known and was said of it."""

    name: str
    about: dict[str, Any]
    content: bytes | None


def as_webdataset(wish: ExportWish) -> Iterator[bytes]:
    """Write a shard: of each image a `.webp`, and a `.json` with its key, attribution and captions by language.

    Images that must not be copied are left out: `datasets` opens no shard in which an image lacks a part.
    """
    pieces = _Pieces()
    with tarfile.open(fileobj=cast("IO[bytes]", pieces), mode="w|") as archive:
        for image in _images(wish):
            if image.content is not None:
                _add(archive, f"{image.name}.webp", image.content)
                _add(archive, f"{image.name}.json", json_line(image.about).encode())
                yield from pieces.taken()
    yield from pieces.taken()


def as_image_folder(wish: ExportWish) -> Iterator[bytes]:
    """Write a ZIP of images with `metadata.jsonl`; `not_copied.jsonl` has the lines of those without a file."""
    pieces = _Pieces()
    with (
        TemporaryFile() as metadata,
        TemporaryFile() as not_copied,
        zipfile.ZipFile(cast("IO[bytes]", pieces), "w") as archive,
    ):
        for image in _images(wish):
            if image.content is None:
                not_copied.write(json_line({"image": image.about["image_key"], **image.about}).encode())
            else:
                name = f"{image.name}.webp"
                metadata.write(json_line({"file_name": name, **image.about}).encode())
                archive.writestr(name, image.content)
                yield from pieces.taken()
        for list_name, lines in (("metadata.jsonl", metadata), ("not_copied.jsonl", not_copied)):
            if lines.tell():
                with archive.open(list_name, "w") as entry:
                    for block in pieces_of(lines):
                        entry.write(block)
                        yield from pieces.taken()
    yield from pieces.taken()


def _images(wish: ExportWish) -> Iterator[ExportedImage]:
    described = images_with_captions(
        wish.project, ["text"], until=wish.until, images=wish.images, languages=wish.languages
    )
    seen = Counter[str]()
    while some := list(islice(described, IMAGES_AT_ONCE)):
        primary_keys = [next(row[IMAGE] for rows in one.captions.values() for row in rows) for one in some]
        stored = Image.objects.in_bulk(primary_keys)
        for one, pk in zip(some, primary_keys, strict=True):
            image = stored[pk]
            attribution = {name: getattr(image, name) for name in FIELDS if getattr(image, name)}
            captions = {tag: {"caption": texts} for tag, texts in one.texts.items()}
            about = {"image_key": one.key, "sha256": image.sha256, **attribution, **captions}
            # In a second collection of the project, an image has other captions.
            name = f"{image.sha256}-{seen[image.sha256]}" if image.sha256 in seen else image.sha256
            seen[image.sha256] += 1
            yield ExportedImage(name, about, _content(image) if may_be_copied(image.licence) else None)


def _content(image: Image) -> bytes:
    content = largest_size(image)
    if content is None:
        said = _("The file of image %(key)s is not in storage. Import the image again.")
        raise ExportError(said % {"key": image.sha256})
    return content


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, BytesIO(content))


class _Pieces:
    """A file that is only written, and taken away in pieces meanwhile."""

    def __init__(self) -> None:
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        self._held += data
        return len(data)

    def flush(self) -> None:
        """What is written is there at once."""

    def taken(self) -> Iterator[bytes]:
        if self._held:
            yield bytes(self._held)
            self._held.clear()
