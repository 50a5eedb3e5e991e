"""Encode whole captions with the Universal Sentence Encoder (multilingual, v3) from a package, without PyTorch."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import (
    EncoderSettingsError,
    EncoderSubject,
    ExtraMissingError,
    check_options,
    encoder_name,
)
from research.inference.backends.use_multilingual import DIMENSIONS, EncoderMissingError, content, encode

AT_ONCE = 64


class SentenceEncoder:
    """Vectors of 512 numbers for captions in its languages, in a space of its own without images.

    Raises
    ------
    research.inference.backends.encoders.ExtraMissingError
        Where the package is not installed.
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
