"""CLIP-like models of transformers: images and captions in one space, in the languages that the model knows.

It stands in the place of an image encoder and of the projections into its space.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoders import (
    EncoderSettingsError,
    EncoderSubject,
    check_options,
    device,
    encoder_name,
    in_batches,
    torch,
    transformers,
)
from research.inference.backends.memory import MemoryGuard, moved_model
from research.inference.backends.transformer_files import PINNED, folder_here, folder_of

FILES = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What of a model is read: never code, and no weights that are Python's pickles."""

FILES_ALONE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Set explicitly: otherwise transformers would ask at the terminal."""
AT_ONCE = 16
FIXED_LENGTH = ("siglip", "siglip2")
"""Kinds that were trained on captions filled up to the greatest length, and give other vectors without."""


def folder_at(source: str) -> Path:
    """Return a folder by its path, or the one into which the hub's model was downloaded.

    Raises EncoderSettingsError.
    """
    path = Path(source)
    if path.is_dir():
        return path
    if PINNED.fullmatch(source) is None:
        raise EncoderSettingsError(
            f"{source} is neither a folder nor a model of the hub with its commit, name/model@ and 40 digits: "
            "without the commit, scores would not say by what they were made."
        )
    try:
        return folder_of(ModelSpec(source, source, {}))
    except BackendSettingsError as refused:
        raise EncoderSettingsError(str(refused)) from refused


def digests_of(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file of a model.

    Raises EncoderSettingsError where there is no model in the folder.
    """
    digests = {}
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        with path.open("rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if "config.json" not in digests:
        raise EncoderSettingsError(f"{folder} holds no model: there is no config.json.")
    return digests


class DualEncoder:
    """Vectors of captions and features of images; neither has unit length.

    - `source`: a folder as transformers saves it, or a model of the hub with the commit to take: name/model@40 digits.

    Raises EncoderSettingsError, research.inference.backends.encoders.ExtraMissingError.
    """

    batch_size = AT_ONCE

    _model: Any

    def __init__(self, source: str) -> None:
        self._library, self._torch, self._device = transformers(), torch(), device()
        self._library.utils.logging.disable_progress_bar()
        folder = folder_at(source)
        self._digests = digests_of(folder)
        self._load(folder, source)
        self._kind = self._model.config.model_type
        if not (hasattr(self._model, "get_text_features") and hasattr(self._model, "get_image_features")):
            raise EncoderSettingsError(
                f"{source} is a model of the kind {self._kind}, which has no vectors of text and images."
            )
        self._model = moved_model(self._model, self._device).eval()
        description = {"files": self._digests} | ({"padded": "max_length"} if self._kind in FIXED_LENGTH else {})
        self.signature = encoder_name(f"dual-encoder-{self._kind}", description)
        self.space = self.signature
        self.dimensions = self._texts(["a"]).shape[1]

    def _load(self, folder: Path, source: str) -> None:
        try:
            self._model = load_model(self._library.AutoModel, folder, self._torch)
            self._tokenizer = self._library.AutoTokenizer.from_pretrained(folder, **FILES_ALONE)
            self._processor = self._library.AutoImageProcessor.from_pretrained(folder, **FILES_ALONE)
        except Exception as error:  # nearly anything, where a file is not what it says
            raise EncoderSettingsError(f"{source} cannot be loaded by transformers: {error}") from error

    def describe(self) -> dict[str, str]:
        return {"encoder": self._kind, "device": self._device, "signature": self.signature}

    def prepare(self, image: Image.Image) -> dict[str, NDArray[Any]]:
        return prepared_by(self._processor, image.convert("RGB"))

    def features_of(self, prepared: Sequence[dict[str, NDArray[Any]]]) -> NDArray[np.float32]:
        with self._torch.inference_mode(), MemoryGuard():
            return _rows(self._model.get_image_features(**joined_batch(prepared, self._torch, self._device)))

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Compute a float32 row for each image, shape (n_images, dimensions)."""
        return in_batches(self, images)

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """Compute a float32 row for each caption, shape (n_captions, dimensions); long captions are cut."""
        rows = [np.empty((0, self.dimensions), dtype=np.float32)]
        rows += [self._texts(captions[start : start + AT_ONCE]) for start in range(0, len(captions), AT_ONCE)]
        return np.concatenate(rows)

    def _texts(self, captions: Sequence[str]) -> NDArray[np.float32]:
        is_fixed = self._kind in FIXED_LENGTH
        tokens = self._tokenizer(
            list(captions),
            padding="max_length" if is_fixed else True,
            truncation=True,
            max_length=self._longest() if is_fixed else None,
            return_tensors="pt",
        )
        with self._torch.inference_mode(), MemoryGuard():
            return _rows(self._model.get_text_features(**tokens.to(self._device)))

    def _longest(self) -> int:
        return int(self._model.config.text_config.max_position_embeddings)

    def close(self) -> None:
        self._model = None


class DualEncoderBackend:
    name = "dual-encoder"
    title = "CLIP-like model of transformers: images and captions"
    queue = "gpu"
    needs = ("torch", "transformers")
    is_visual = True

    def check(self, spec: ModelSpec) -> None:
        folder_here(spec.source)
        check_options(spec, {})

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset(EncoderSubject)

    def load(self, spec: ModelSpec) -> DualEncoder:
        # Before anything is fetched.
        transformers()
        return DualEncoder(str(folder_of(spec)))


def load_model(kind: Any, folder: Path, library: Any, **options: Any) -> Any:
    """Load a model of transformers from a folder: safetensors only, in 32 bits, without warnings of unused weights."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        return kind.from_pretrained(folder, use_safetensors=True, dtype=library.float32, **FILES_ALONE, **options)
    finally:
        logging.set_verbosity(before)


def prepared_by(processor: Any, image: Image.Image) -> dict[str, NDArray[Any]]:
    """Prepare an image with the model's image processor."""
    return {name: value[0].numpy() for name, value in processor(images=[image], return_tensors="pt").items()}


def joined_batch(prepared: Sequence[dict[str, NDArray[Any]]], library: Any, device: str) -> dict[str, Any]:
    """Join prepared images to a batch on the device."""
    return {name: library.from_numpy(np.stack([one[name] for one in prepared])).to(device) for name in prepared[0]}


def _rows(output: Any) -> NDArray[np.float32]:
    # Depending on its version, transformers gives the vectors, or an object that holds them.
    rows: NDArray[np.float32] = getattr(output, "pooler_output", output).float().cpu().numpy()
    return rows
