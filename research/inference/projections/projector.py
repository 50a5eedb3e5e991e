"""Use a trained projection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.text import text_version, tokenise
from crosslens_metrics.word_vectors import WordVectorSource
from research.inference.backends.encoders import device, torch
from research.inference.projections.folder import ProjectionConfig, ProjectionError, ProjectionManifest, read_projection
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

        Raises
        ------
        crosslens_metrics.java.ToolMissingError
            Where its tokeniser needs a program or package that is not there.
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

    Raises
    ------
    ProjectionError
        Where the folder holds none, or other word vectors or another tokeniser are here than it was trained with.
    research.inference.backends.encoders.ExtraMissingError
    crosslens_metrics.java.ToolMissingError
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
