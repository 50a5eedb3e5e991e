"""Find encoders by name."""

from __future__ import annotations

from research.inference.backends import mobilenet
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.dual_encoder import DualEncoder
from research.inference.backends.encoder_files import folder_at
from research.inference.backends.encoders import EncoderSettingsError, ImageEncoder
from research.inference.backends.transformer_files import read_json
from research.inference.backends.vision import VisionModel

OF_TEXTS = ("text_config", "text_config_dict")
"""What only the configuration of a model of images and texts has."""


def image_encoder(name: str) -> ImageEncoder:
    """Load an encoder: `mobilenet`, or a CLIP-like or vision model in a folder, or name/model@commit of the hub.

    Raises
    ------
    research.inference.backends.encoders.EncoderSettingsError, research.inference.backends.encoders.ExtraMissingError
    """
    if name == mobilenet.NAME:
        return mobilenet.MobileNet()
    try:
        config = read_json(folder_at(name), "config.json")
    except BackendSettingsError as refused:
        raise EncoderSettingsError(str(refused)) from refused
    return DualEncoder(name) if any(key in config for key in OF_TEXTS) else VisionModel(name)
