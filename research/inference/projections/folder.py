"""The folder of a projection: weights, words, settings, and a manifest that says what it is."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.formats.arrays import opened_arrays
from crosslens_metrics.word_vectors import signature_of

MANIFEST, WEIGHTS, WORDS, CHECKPOINT, VECTORS = "manifest.json", "weights.npz", "words.json", "checkpoint.pt", "vectors"
KIND, LAYOUT = "w2vv++", 1
Weights = Mapping[str, NDArray[np.float32]]


class ProjectionError(Exception):
    """A projection cannot be trained or used; the message says why."""


@dataclass(frozen=True)
class ProjectionConfig:
    """How a projection is built and trained.

    - `least_count`: words that come less often in the training captions are left out of the bag of words and the GRU.
    - `word_dimensions`: of the GRU's words where no word vectors are given; else they have as many as the vectors.
    - `recurrent` and `hidden`: units of the GRU and of the middle layer of the MLP.
    - `dropout`: share of the middle layer left out in training.
    - `margin`: by how much the right image is to be nearer than the nearest wrong one, as a cosine.
    - `learning_rate`: for RMSprop; falls by a hundredth each epoch.
    """

    least_count: int = 1
    word_dimensions: int = 300
    recurrent: int = 512
    hidden: int = 1024
    dropout: float = 0.2
    margin: float = 0.2
    learning_rate: float = 3e-4
    batch: int = 128
    epochs: int = 50
    seed: int = 1

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ProjectionManifest:
    """The description of a projection, from which its `signature` follows."""

    layout: int
    kind: str
    language: str
    text: str
    """What captions are made into before they are read (`crosslens_metrics.text.text_version`); `tokenizer` and
    `normalise` are how.
    """
    tokenizer: str
    normalise: bool
    space: str
    """Signature of the image encoder into whose space it projects."""
    dimensions: int
    vectors: str | None
    """Signature of the word vectors."""
    config: dict[str, Any]
    pairs: int
    words_sha256: str
    weights_sha256: str
    base: str | None = None
    """Signature of the projection that was trained further."""
    validation: str | None = None
    """SHA-256 of the captions by which the epoch was chosen."""
    epoch: int | None = None
    """The epoch that was chosen."""

    def as_dict(self) -> dict[str, Any]:
        # What was added later is left out where it is not used, so that signatures stay.
        added = ("base", "validation", "epoch")
        return {name: value for name, value in asdict(self).items() if name not in added or value is not None}

    @property
    def signature(self) -> str:
        return signature_of(self.as_dict())

    @property
    def encoder(self) -> str:
        """Its name in vector files and in the signatures of scores."""
        return f"{self.kind}-{self.language}-{self.signature[:16]}"


def write_projection(folder: Path, manifest: ProjectionManifest, words: list[str], weights: Weights) -> None:
    """Write the three files, the manifest last: where it is, the others are whole."""
    with replacing(folder / WEIGHTS) as partial, partial.open("wb") as file:
        np.savez(file, **weights)  # type: ignore[arg-type]
    with replacing(folder / WORDS) as partial:
        partial.write_text(json.dumps(words, ensure_ascii=False) + "\n", encoding="utf-8")
    content = {"signature": manifest.signature, **manifest.as_dict()}
    with replacing(folder / MANIFEST) as partial:
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_projection(folder: Path) -> tuple[ProjectionManifest, list[str], Weights]:
    """Read a folder that `write_projection` wrote, and compare it with its signature.

    Raises ProjectionError.
    """
    manifest = read_manifest(folder)
    try:
        words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        with opened_arrays(folder / WEIGHTS) as arrays:
            weights = dict(arrays)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ProjectionError(f"The projection in {folder} is incomplete ({error}). Train it again.") from error
    if (words_sha256(words), weights_sha256(weights)) != (manifest.words_sha256, manifest.weights_sha256):
        raise ProjectionError(f"The words or weights in {folder} do not match its manifest. Train it again.")
    return manifest, words, weights


def read_manifest(folder: Path) -> ProjectionManifest:
    """Read the manifest of the projection in a folder.

    Raises ProjectionError.
    """
    path = folder / MANIFEST
    if not path.is_file():
        unfinished = (folder / CHECKPOINT).is_file()
        why = "its training was not finished, continue with --resume" if unfinished else f"there is no {MANIFEST}"
        raise ProjectionError(f"{folder} holds no projection; {why}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        signature = content.pop("signature")
        manifest = ProjectionManifest(**content)
        ProjectionConfig(**manifest.config)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ProjectionError(f"{path} is not the manifest of a projection ({error}).") from error
    if (manifest.layout, manifest.kind, manifest.signature) != (LAYOUT, KIND, signature):
        raise ProjectionError(f"{path} was changed or belongs to another version. Train the projection again.")
    return manifest


def words_sha256(words: list[str]) -> str:
    return hashlib.sha256(json.dumps(words, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()


def weights_sha256(weights: Weights) -> str:
    """Compute SHA-256 of names, shapes and numbers, independent of the file format."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        rows = np.ascontiguousarray(weights[name], dtype="<f4")
        digest.update(f"{name} {rows.shape}\0".encode())
        digest.update(rows.tobytes())
    return digest.hexdigest()


class replacing:  # noqa: N801 - reads as a word: with replacing(path) as partial
    """Write a file that replaces `path` when it is complete and on the disk; after an error, nothing is replaced."""

    def __init__(self, path: Path) -> None:
        self.path, self.partial = path, path.with_name(f".{path.name}.partial")

    def __enter__(self) -> Path:
        return self.partial

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is not None:
            self.partial.unlink(missing_ok=True)
            return
        with self.partial.open("rb+") as file:
            os.fsync(file.fileno())
        self.partial.replace(self.path)
