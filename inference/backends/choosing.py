"""Encoders by the name that people give them."""

from __future__ import annotations

from inference.backends import mobilenet
from inference.backends.dual_encoder import DualEncoder
from inference.backends.encoders import ImageEncoder


def image_encoder(name: str) -> ImageEncoder:
    """`mobilenet`, or a CLIP-like model: a folder, or name/model@commit of the hub.

    Raises
    ------
    inference.backends.encoders.EncoderRefused, inference.backends.encoders.ExtraMissing
    """
    return mobilenet.MobileNet() if name == mobilenet.NAME else DualEncoder(name)
