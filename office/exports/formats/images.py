"""Captions with their images or their addresses: shards of WebDataset, and what `datasets` opens.

Images are as people saw them, which has no metadata, such as where they were taken. Those whose licence forbids
copying, and those that are no longer in storage, have no file: a list has their addresses, as what is sent cannot be
taken back.
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, cast
from uuid import UUID

from annotation.formats.captions import images_with_captions
from annotation.selectors.caption_rows import IMAGE
from core.images.models import Image
from core.images.rules.attributions import FIELDS, may_be_copied
from core.images.rules.sizes import sizes_of
from core.images.services.file_storage import read_size
from office.exports.formats.tables import pieces_of
from office.exports.selectors.moments import one_moment
from office.exports.selectors.tables import ExportWish
from tabular.downloads import in_pieces, json_line

IMAGES_AT_ONCE = 100
NOT_COPIED = "not_copied"
"""The list of images without a file. In a shard it has no extension, so that readers of WebDataset pass over it."""


@dataclass(frozen=True)
class ExportedImage:
    """An image, its content or why it has none, and what is known and was said of it."""

    name: str
    about: dict[str, Any]
    content: bytes | None
    reason: str

    @property
    def not_copied_line(self) -> bytes:
        return json_line(_with_address(self.about) | {"reason": self.reason}).encode()


def as_addresses(wish: ExportWish) -> Iterator[bytes]:
    """Write a line for each image: its address instead of a file, its attribution, and captions by language."""
    return in_pieces(json_line(_with_address(about)) for _name, about, *_file in _described(wish))


def _with_address(about: dict[str, Any]) -> dict[str, Any]:
    """Name the image by its key, and say where its file is; None where its source is no address."""
    source = about.get("source", "")
    address = source if source.lower().startswith(("http://", "https://")) else None
    return {"image": about["image_key"], "image_url": address, **about}


def as_webdataset(wish: ExportWish) -> Iterator[bytes]:
    """Write a shard: of each image a `.webp`, and a `.json` with its key, attribution and captions by language.

    `datasets` opens no shard in which an image lacks a part, so that those without a file are only in the list.
    """
    pieces = _Pieces()
    with (
        TemporaryFile() as not_copied,
        tarfile.open(fileobj=cast("IO[bytes]", pieces), mode="w|") as archive,
    ):
        for image in _images(wish):
            if image.content is None:
                not_copied.write(image.not_copied_line)
            else:
                _add(archive, f"{image.name}.webp", BytesIO(image.content), len(image.content))
                about = json_line(image.about).encode()
                _add(archive, f"{image.name}.json", BytesIO(about), len(about))
                yield from pieces.taken()
        if size := not_copied.tell():
            not_copied.seek(0)
            _add(archive, NOT_COPIED, not_copied, size)
        is_empty = not archive.offset
    if not is_empty:
        yield from pieces.taken()


def as_image_folder(wish: ExportWish) -> Iterator[bytes]:
    """Write a ZIP of images with `metadata.jsonl`, and the list of those without a file."""
    pieces = _Pieces()
    with (
        TemporaryFile() as metadata,
        TemporaryFile() as not_copied,
        zipfile.ZipFile(cast("IO[bytes]", pieces), "w") as archive,
    ):
        for image in _images(wish):
            if image.content is None:
                not_copied.write(image.not_copied_line)
            else:
                name = f"{image.name}.webp"
                metadata.write(json_line({"file_name": name, **image.about}).encode())
                archive.writestr(name, image.content)
                yield from pieces.taken()
        for list_name, lines in (("metadata.jsonl", metadata), (f"{NOT_COPIED}.jsonl", not_copied)):
            if lines.tell():
                with archive.open(list_name, "w") as entry:
                    for block in pieces_of(lines):
                        entry.write(block)
                        yield from pieces.taken()
        is_empty = not archive.infolist()
    if not is_empty:
        yield from pieces.taken()


def _images(wish: ExportWish) -> Iterator[ExportedImage]:
    """Yield the images with what was said of each at one moment: before the first file is read, which take long."""
    with TemporaryFile() as lines:
        with one_moment():
            lines.writelines(json_line(line).encode() for line in _described(wish))
        lines.seek(0)
        for line in lines:
            name, about, public_id, size, reason = json.loads(line)
            content = None if reason else read_size(UUID(public_id), size)
            yield ExportedImage(name, about, content, reason or "not in storage")


def _described(wish: ExportWish) -> Iterator[tuple[str, dict[str, Any], str, int, str]]:
    """Yield of each image its name, what is known and was said of it, its file, and why that may not be copied."""
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
            size = max(sizes_of(image.width, image.height))
            yield name, about, image.public_id.hex, size, "" if may_be_copied(image.licence) else "licence"


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    archive.addfile(member, content)


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
