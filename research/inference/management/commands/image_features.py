"""`manage.py image_features FOLDER_OR_COLLECTION --out FEATURES.npz`: features of images by an image encoder."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError
from PIL import Image

from core.images.management.arguments import collection_named
from crosslens_metrics.named_vectors import NamedVectors
from research.inference.backends.captioners import BackendSettingsError, OutOfMemoryError
from research.inference.backends.encoders import ExtraMissingError
from research.inference.backends.mobilenet import NAME as MOBILENET
from research.inference.backends.vision import image_encoder
from research.inference.formats.images import ImageFileError, images_in, read_collection, read_folder
from research.inference.management.arguments import check_file_to_write

AT_ONCE = 16


class Command(BaseCommand):
    help = "Write the features of the images in a folder (by file) or a collection (by key) to an npz file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", help="folder of images, or name or slug of a collection")
        parser.add_argument("--out", type=Path, required=True, help="npz file to write")
        parser.add_argument(
            "--encoder",
            default=MOBILENET,
            help=f"{MOBILENET} (the default), a folder of a CLIP-like or vision model, or name/model@commit of the hub",
        )

    def handle(self, *, source: str, out: Path, encoder: str, **options: Any) -> None:
        check_file_to_write(out)
        count, images = _images(source)
        keys: list[str] = []
        rows = []
        try:
            engine = image_encoder(encoder)
            while some := list(islice(images, AT_ONCE)):
                keys += [key for key, _image in some]
                rows.append(engine.features([image for _key, image in some]))
                self.stdout.write(f"{len(keys):,} of {count:,}")
        except (ExtraMissingError, BackendSettingsError, OutOfMemoryError, ImageFileError) as error:
            raise CommandError(str(error)) from error
        NamedVectors(tuple(keys), np.concatenate(rows), engine.signature, engine.space).save(out)
        self.stdout.write(f"Wrote {len(keys):,} × {engine.dimensions} to {out}.\nEncoder: {engine.signature}")


def _images(source: str) -> tuple[int, Iterator[tuple[str, Image.Image]]]:
    folder = Path(source)
    if folder.is_dir():
        names = images_in(folder)
        count, images = len(names), read_folder(folder, names)
    else:
        try:
            collection = collection_named(source)
        except CommandError as error:
            raise CommandError(f"There is no folder {source}. {error}") from error
        count, images = collection.entries.count(), read_collection(collection)
    if not count:
        raise CommandError(f"There are no images in {source}.")
    return count, images
