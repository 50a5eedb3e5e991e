"""The encoder of a trained projection of captions into a space of image features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource, open_table
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject, check_options, device
from research.inference.backends.memory import MemoryGuard
from research.inference.backends.transformer_files import NAME, folder_here
from research.inference.backends.use_multilingual import EncoderMissingError, MultilingualEncoder
from research.inference.projections.folder import MANIFEST, VECTORS, ProjectionError, ProjectionManifest, read_manifest
from research.inference.projections.projector import AT_ONCE, TextProjection, open_projection


class ProjectionEncoder:
    """Vectors of captions of one language in the space that the projection was trained for.

    Raises
    ------
    EncoderSettingsError, research.inference.backends.encoders.ExtraMissingError
    """

    batch_size = AT_ONCE

    def __init__(self, folder: Path) -> None:
        try:
            manifest = read_manifest(folder)
            self._projection: TextProjection | None = open_projection(folder, word_vectors_of(folder, manifest))
        except (ProjectionError, ToolMissingError) as error:
            raise EncoderSettingsError(str(error)) from error
        self.signature, self.space, self.dimensions = manifest.encoder, manifest.space, manifest.dimensions
        self.language = manifest.language

    def describe(self) -> dict[str, str]:
        return {"encoder": f"W2VV++ ({self.language})", "device": device(), "signature": self.signature}

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        if self._projection is None:
            raise EncoderSettingsError("The projection was closed.")
        try:
            with MemoryGuard():
                return self._projection.vectors(captions)
        except (ToolMissingError, ToolFailedError) as error:
            raise EncoderSettingsError(str(error)) from error

    def close(self) -> None:
        self._projection = None


class ProjectionBackend:
    name = "projection"
    title = "W2VV++ of train_projection: captions of one language, in a space of images"
    queue = "gpu"
    needs = ("torch",)
    is_visual = True

    def check(self, spec: ModelSpec) -> None:
        if NAME.fullmatch(spec.source) is None:
            raise EncoderSettingsError(f"“{spec.source}” is not the name of a folder made by train_projection.")
        folder_here(spec.source)
        check_options(spec, {})

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset({EncoderSubject.CAPTIONS})

    def load(self, spec: ModelSpec) -> ProjectionEncoder:
        folder = folder_here(spec.source)
        if folder is None:
            raise EncoderSettingsError(f"There is no folder “{spec.source}” of models on this machine.")
        return ProjectionEncoder(folder)


def word_vectors_of(folder: Path, manifest: ProjectionManifest) -> WordVectorSource | None:
    """Open the word vectors that a projection was trained with: in its folder, imported, or the packaged encoder.

    Raises
    ------
    ProjectionError
        Where they are not here.
    """
    if manifest.vectors is None:
        return None
    try:
        for place in (folder / VECTORS, Path(settings.VECTORS) / manifest.vectors):
            if (place / MANIFEST).is_file():
                return open_table(place)
        encoder = MultilingualEncoder(manifest.language)
        if encoder.signature == manifest.vectors:
            return encoder
    except (MalformedTableError, EncoderMissingError) as error:
        raise ProjectionError(f"The word vectors of {folder.name} cannot be read: {error}") from error
    raise ProjectionError(
        f"{folder.name} was trained with word vectors that are not here ({manifest.vectors}). Import them with "
        "import_word_vectors, or copy its folder with the vectors in it."
    )
