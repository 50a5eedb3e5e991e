"""What encoders of pictures and captions have in common: their protocol, and the packages that they need.

Not every installation has PyTorch and transformers: they are found here, or it is said how to get them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from metrics.word_vectors import signature_of

HOW = "pip install -r requirements-gpu.txt (some GB; docs/metrics.md, Annotation-free metrics, says more)"


class ImageEncoder(Protocol):
    """What makes features of pictures. Made by loading its weights; `signature` names it in scores and files."""

    signature: str
    space: str
    dimensions: int

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """A row for each picture, shape (n_images, dimensions)."""


class TextEncoder(Protocol):
    """What brings captions into the space of an image encoder, which `space` names."""

    signature: str
    space: str
    dimensions: int

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """A row for each caption as it was written, shape (n_captions, dimensions)."""


class EncoderRefused(Exception):
    """There is no such encoder, or it cannot be used, and why."""


class ExtraMissing(Exception):
    """An optional package is not installed; says which, and how to get it."""


def torch() -> Any:
    """PyTorch, imported when it is first needed: that takes seconds.

    Raises
    ------
    ExtraMissing
    """
    try:
        import torch as found
    except ImportError as error:
        raise ExtraMissing(f"This needs PyTorch, which is not installed: {HOW}.") from error
    return found


def transformers() -> Any:
    """The package transformers.

    Raises
    ------
    ExtraMissing
    """
    torch()
    try:
        import transformers as found
    except ImportError as error:
        raise ExtraMissing(f"This needs transformers, which is not installed: {HOW}.") from error
    return found


def encoder_name(kind: str, content: Mapping[str, Any]) -> str:
    """The signature of an encoder, such as `mobilenet-v2-0c5d8e5a2f0b1d34`: what it is, and a digest of its content."""
    return f"{kind}-{signature_of({'kind': kind, **content})[:16]}"


def device() -> str:
    """Where to compute: on the GPU when there is one."""
    return "cuda" if torch().cuda.is_available() else "cpu"
