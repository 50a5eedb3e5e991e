"""Read images for encoders and captions of images for projections, each with its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from django.core.files.storage import default_storage
from PIL import Image, UnidentifiedImageError

from core.images.models import Collection
from core.images.rules.resizing import decoded_upright
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text

ENDINGS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp"})
EXAMPLE = '{"image": …, "caption": …}'


class ImageFileError(Exception):
    """An image cannot be read; the message names it."""


def images_in(folder: Path) -> list[str]:
    """List the images in a folder and its subfolders by their relative path, without hidden ones."""
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    names = (path.relative_to(folder) for path in paths)
    return sorted(name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts))


def read_folder(folder: Path, names: list[str]) -> Iterator[tuple[str, Image.Image]]:
    """Read the images of a folder; yields each with its path.

    Raises ImageFileError.
    """
    for name in names:
        with _opened(folder / name, name) as file:
            yield name, _upright(file, name)


def read_collection(collection: Collection) -> Iterator[tuple[str, Image.Image]]:
    """Read the images of a collection; yields each with its key.

    Raises ImageFileError.
    """
    for entry in collection.entries.select_related("image").iterator():
        try:
            with default_storage.open(entry.image.original) as file:
                yield entry.key, _upright(file, entry.key)
        except FileNotFoundError as error:
            raise ImageFileError(f"The file of image {entry.key} is missing from storage.") from error


def _opened(path: Path, name: str) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise ImageFileError(f"Image {name} cannot be read ({error.strerror}).") from error


def _upright(file: IO[bytes], name: str) -> Image.Image:
    try:
        # As runs on the platform read it, so that the same encoder gives the same features.
        return decoded_upright(file, side=None)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning) as error:
        raise ImageFileError(f"{name} cannot be read as an image ({error}).") from error


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read images and captions in the order of the file.

    Each line is {"image": name, "caption": text}, or has "captions", a list of texts. A JSON list of such will do too.

    Raises FileProblemsError.
    """
    pairs: list[tuple[str, str]] = []
    with LineReader(path) as reader:
        for record in reader.records():
            with reader.line(record):
                fields = LineFields(record.value, example=EXAMPLE)
                image = fields.image()
                captions = [fields.values["caption"]] if "caption" in fields.values else fields.list("captions")
                if not captions or not all(isinstance(caption, str) and is_text(caption) for caption in captions):
                    raise LineError(f"image {image} needs “caption”, a text, or “captions”, a list of texts.")
                pairs += [(image, caption) for caption in captions]
        if not pairs and not reader.problems:
            reader.refuse("The file holds no captions.")
    return pairs
