"""`manage.py project_captions FOLDER CAPTIONS --out FILE.npz`: captions as vectors in a space of image features."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.named_vectors import NamedVectors
from research.inference.backends.captioners import BackendSettingsError, OutOfMemoryError
from research.inference.backends.dual_encoder import DualEncoder
from research.inference.backends.encoders import ExtraMissingError, TextEncoder
from research.inference.backends.memory import in_halves
from research.inference.backends.projection import ProjectionEncoder
from research.inference.formats.images import read_pairs
from research.inference.management.arguments import check_file_to_write


class Command(BaseCommand):
    help = "Project captions with a projection made by train_projection, or with a CLIP-like model."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "encoder", help="folder made by train_projection, folder of a model, or name/model@commit of the hub"
        )
        parser.add_argument("captions", type=Path, help='JSON lines: {"image": …, "caption": …} or "captions": […]')
        parser.add_argument("--out", type=Path, required=True, help="npz file to write")

    def handle(self, *, encoder: str, captions: Path, out: Path, **options: Any) -> None:
        check_file_to_write(out)
        try:
            images, texts = zip(*read_pairs(captions), strict=True)
            engine = _encoder(encoder)
            rows, _size = in_halves(lambda some: list(engine.vectors(texts[some])), len(texts), size=len(texts))
            vectors = NamedVectors(images, np.stack(rows), engine.signature, engine.space)
        except (FileProblemsError, ExtraMissingError, BackendSettingsError, OutOfMemoryError) as error:
            raise CommandError(str(error)) from error
        vectors.save(out)
        self.stdout.write(f"Wrote {len(vectors.keys):,} × {engine.dimensions} to {out}.\nEncoder: {engine.signature}")


def _encoder(source: str) -> TextEncoder:
    folder = Path(source)
    is_projection = folder.is_dir() and not (folder / "config.json").is_file()
    return ProjectionEncoder(folder) if is_projection else DualEncoder(source)
