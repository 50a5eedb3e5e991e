"""A CLIP-like model of transformers: pictures and captions in one space, of as many languages as it knows.

It stands in the place of an image encoder and of the projections into its space.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from inference.backends.encoders import EncoderRefused, device, encoder_name, torch, transformers

FILES = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What of a model is read: never code, and no weights that are Python's pickles."""
PINNED = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")
AT_ONCE = 16


class DualEncoder:
    """Vectors of captions and features of pictures, of unit length neither.

    Parameters
    ----------
    source : str
        A folder as transformers saves it, or a model of the hub with the commit to take: name/model@40 digits.

    Raises
    ------
    EncoderRefused
    inference.backends.encoders.ExtraMissing
    """

    def __init__(self, source: str) -> None:
        library, self._torch, self._device = transformers(), torch(), device()
        library.utils.logging.disable_progress_bar()
        folder = _folder(source)
        digests = _digests(folder)
        try:
            self._model = library.AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
            self._tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._processor = library.AutoImageProcessor.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise EncoderRefused(f"{source} cannot be loaded by transformers: {error}") from error
        if not (hasattr(self._model, "get_text_features") and hasattr(self._model, "get_image_features")):
            kind = self._model.config.model_type
            raise EncoderRefused(f"{source} is a model of the kind {kind}, which has no vectors of text and pictures.")
        self._model.to(self._device).eval()
        self.signature = encoder_name(f"dual-encoder-{self._model.config.model_type}", {"files": digests})
        self.space = self.signature
        self.dimensions = int(self._model.config.projection_dim)

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """A row of float32 for each picture, shape (n_images, dimensions)."""

        def some(chosen: Sequence[Image.Image]) -> Any:
            prepared = self._processor(images=[image.convert("RGB") for image in chosen], return_tensors="pt")
            return self._model.get_image_features(**prepared.to(self._device))

        return self._in_parts(images, some)

    def vectors(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """A row of float32 for each caption, shape (n_captions, dimensions); one that is too long is cut."""

        def some(chosen: Sequence[str]) -> Any:
            tokens = self._tokenizer(list(chosen), padding=True, truncation=True, return_tensors="pt")
            return self._model.get_text_features(**tokens.to(self._device))

        return self._in_parts(captions, some)

    def _in_parts(self, items: Sequence[Any], compute: Any) -> NDArray[np.float32]:
        rows = [np.empty((0, self.dimensions), dtype=np.float32)]
        with self._torch.inference_mode():
            for start in range(0, len(items), AT_ONCE):
                found = compute(items[start : start + AT_ONCE])
                # Depending on its version, transformers gives the vectors, or an object that holds them.
                rows.append(getattr(found, "pooler_output", found).float().cpu().numpy())
        return np.concatenate(rows)


def _folder(source: str) -> Path:
    path = Path(source)
    if path.is_dir():
        return path
    pinned = PINNED.fullmatch(source)
    if pinned is None:
        raise EncoderRefused(
            f"{source} is neither a folder nor a model of the hub with its commit, such as name/model@ and 40 digits: "
            "without the commit, scores would not say by what they were made."
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(pinned["name"], revision=pinned["revision"], allow_patterns=list(FILES)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise EncoderRefused(f"{source} cannot be fetched from the hub: {error}") from error


def _digests(folder: Path) -> dict[str, str]:
    digests = {}
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        with path.open("rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if "config.json" not in digests:
        raise EncoderRefused(f"{folder} holds no model: there is no config.json.")
    return digests
