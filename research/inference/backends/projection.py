"""Project captions into spaces of image features by projections that were trained here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.text import text_version, tokenise
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource, open_table
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject, check_options, device, torch
from research.inference.backends.memory import MemoryGuard
from research.inference.backends.transformer_files import NAME, folder_here
from research.inference.backends.use_multilingual import EncoderMissingError, MultilingualEncoder
from research.inference.projections.folder import (
    MANIFEST,
    VECTORS,
    ProjectionConfig,
    ProjectionError,
    ProjectionManifest,
    read_manifest,
    read_projection,
)
from research.inference.projections.training import network_of, tensors_of
from research.inference.projections.words import CaptionReader

AT_ONCE = 256


class TextProjection:
    """Projects captions of its language into its space of image features."""

    def __init__(self, manifest: ProjectionManifest, reader: CaptionReader, network: object) -> None:
        self.manifest, self.signature, self.space = manifest, manifest.encoder, manifest.space
        self.dimensions = manifest.dimensions
        self._reader, self._network = reader, network

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """Compute a float32 row for each caption in its original spelling, shape (n, dimensions).

        Raises crosslens_metrics.java.ToolMissingError where its tokeniser needs a program or package that is not there.
        """
        manifest = self.manifest
        tokens = tokenise(
            captions, tokenizer=manifest.tokenizer, language=manifest.language, normalise=manifest.normalise
        )
        parts = [np.empty((0, self.dimensions), dtype=np.float32)]
        with torch().inference_mode():
            for start in range(0, len(tokens), AT_ONCE):
                read = self._reader.read(tokens[start : start + AT_ONCE])
                parts.append(self._network(*tensors_of(read)).cpu().numpy())  # type: ignore[operator]
        return np.concatenate(parts)


def open_projection(folder: Path, vectors: WordVectorSource | None) -> TextProjection:
    """Open a projection from its folder, with the word vectors that it was trained with.

    Raises ProjectionError where the folder holds none, or other word vectors or another tokeniser are here than it was
    trained with. Raises research.inference.backends.encoders.ExtraMissingError,
    crosslens_metrics.java.ToolMissingError.
    """
    manifest, words, weights = read_projection(folder)
    signature = None if vectors is None else vectors.signature
    if signature != manifest.vectors:
        raise ProjectionError(f"{folder} was trained with the word vectors {manifest.vectors}, not with {signature}.")
    here = text_version(manifest.tokenizer, manifest.normalise, language=manifest.language)
    if here != manifest.text:
        raise ProjectionError(f"{folder} was trained on text made by {manifest.text}; here that is {here}.")
    library = torch()
    network = network_of(
        len(words), vectors.dimensions if vectors else 0, manifest.dimensions, ProjectionConfig(**manifest.config)
    )
    try:
        network.load_state_dict({name: library.from_numpy(np.array(value)) for name, value in weights.items()})
    except RuntimeError as error:
        raise ProjectionError(f"The weights in {folder} belong to another network. Train it again.") from error
    return TextProjection(manifest, CaptionReader(words, vectors), network.to(device()).eval())


class ProjectionEncoder:
    """Vectors of captions of one language in the space that the projection was trained for.

    Raises EncoderSettingsError or research.inference.backends.encoders.ExtraMissingError.
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

    Raises ProjectionError where they are not here.
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
