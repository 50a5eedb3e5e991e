"""Vectors of images by any vision model of transformers or timm, from a folder or the hub; and encoders by name.

ResNet-152's are those of pool5: the mean over the last feature map.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from research.inference.backends import mobilenet
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.dual_encoder import (
    FILES_ALONE,
    DualEncoder,
    digests_of,
    folder_at,
    joined_batch,
    load_model,
    prepared_by,
)
from research.inference.backends.encoders import (
    EncoderSettingsError,
    EncoderSubject,
    ExtraMissingError,
    ImageEncoder,
    check_options,
    device,
    encoder_name,
    in_batches,
    torch,
    transformers,
)
from research.inference.backends.memory import MemoryGuard, moved_model
from research.inference.backends.mobilenet import on_white
from research.inference.backends.transformer_files import folder_here, folder_of, read_json

AUTO, POOLER, FIRST, MEAN = "auto", "pooler", "first", "mean"
POOLS = (AUTO, POOLER, FIRST, MEAN)
"""What of the model's last layer is taken: what it pools itself where that was trained, else the first token of a
sequence, else the mean over a map."""
AT_ONCE = 16
PREPARATION = "srgb-on-white-1"
HOW_TIMM = "pip install timm torchvision"
PROBE_SIDE = 64
SAME_WITHIN = 1e-3
OF_TEXTS = ("text_config", "text_config_dict")
"""What only the configuration of a model of images and texts has."""


class VisionModel:
    """Features of images; the weights are loaded when it is made.

    - `source`: a folder as transformers saves it, or a model of the hub with the commit to take: name/model@40 digits.
    - `pool`: one of `POOLS`.

    Raises EncoderSettingsError also where weights are missing of what is taken, or the same image has other features
    each time. Raises research.inference.backends.encoders.ExtraMissingError.
    """

    batch_size = AT_ONCE

    _model: Any
    _processor: Any

    def __init__(self, source: str, *, pool: str = AUTO) -> None:
        self._library, self._torch, self._device = transformers(), torch(), device()
        self._library.utils.logging.disable_progress_bar()
        folder = folder_at(source)
        digests = digests_of(folder)
        _check_timm(folder, source)
        self._source = source
        has_pooler = self._load(folder)
        self._kind = str(getattr(self._model.config, "architecture", "") or self._model.config.model_type)
        self._model = moved_model(self._model, self._device).eval()
        self._pool = self._pool_of(pool, has_pooler)
        self.dimensions = self._probe()
        description = {"files": digests, "pool": self._pool, "prepared": PREPARATION}
        self.signature = encoder_name(f"vision-{self._kind}"[:80], description)
        self.space = self.signature

    def describe(self) -> dict[str, str]:
        return {
            "encoder": self._kind,
            "pool": self._pool,
            "device": self._device,
            "signature": self.signature,
        }

    def prepare(self, image: Image.Image) -> dict[str, NDArray[Any]]:
        return prepared_by(self._processor, on_white(image))

    def features_of(self, prepared: Sequence[dict[str, NDArray[Any]]]) -> NDArray[np.float32]:
        """Compute a float32 row for each image, shape (n_images, dimensions)."""
        with self._torch.inference_mode(), MemoryGuard():
            output = self._model(**joined_batch(prepared, self._torch, self._device))
            rows: NDArray[np.float32] = self._pooled(output).float().cpu().numpy()
        return rows

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        return in_batches(self, images)

    def close(self) -> None:
        self._model = None

    def _load(self, folder: Path) -> bool:
        """Load the weights; returns whether they include the model's own pooling."""
        try:
            self._model, info = load_model(self._library.AutoModel, folder, self._torch, output_loading_info=True)
            self._processor = self._library.AutoImageProcessor.from_pretrained(folder, **FILES_ALONE)
        except Exception as error:  # nearly anything, where a file is not what it says
            raise EncoderSettingsError(f"{self._source} cannot be loaded by transformers: {error}") from error
        if hasattr(self._model, "get_text_features"):
            kind = self._model.config.model_type
            raise EncoderSettingsError(f"{self._source} is of the kind {kind}, for images and texts. Use dual-encoder.")
        if getattr(self._model, "main_input_name", "") != "pixel_values":
            raise EncoderSettingsError(
                f"{self._source} is a model of the kind {self._model.config.model_type}, not a vision model."
            )
        # What is missing would be random numbers, others each time.
        missing = set(info["missing_keys"])
        pooler = {name for name in missing if "pooler" in name}
        if missing - pooler:
            raise EncoderSettingsError(f"{self._source} lacks weights, for example {min(missing - pooler)}.")
        return not pooler

    def _pool_of(self, pool: str, has_pooler: bool) -> str:
        if pool == POOLER and not has_pooler:
            raise EncoderSettingsError(f"{self._source} has no weights for the pooler. Choose another pool.")
        if pool != AUTO:
            return pool
        output = self._forward(self._noise(1))
        if has_pooler and getattr(output, "pooler_output", None) is not None:
            return POOLER
        return FIRST if output.last_hidden_state.ndim == 3 else MEAN

    def _pooled(self, output: Any) -> Any:
        if self._pool == POOLER:
            pooled = getattr(output, "pooler_output", None)
            if pooled is None:
                raise EncoderSettingsError(f"{self._source} has no pooling of its own. Choose another pool.")
            # ResNet's is a map of one place.
            return pooled.flatten(1)
        last = output.last_hidden_state
        if last.ndim == 4:
            return last.mean(dim=(2, 3))
        return last[:, 0] if self._pool == FIRST else last.mean(dim=1)

    def _forward(self, image: Image.Image) -> Any:
        with self._torch.inference_mode(), MemoryGuard():
            return self._model(**joined_batch([self.prepare(image)], self._torch, self._device))

    def _probe(self) -> int:
        """Return the number of dimensions, after checking that it is always the same."""
        image = self._noise(2)
        one, same = (self.features_of([self.prepare(image)]) for _time in range(2))
        if one.ndim != 2 or not np.isfinite(one).all():
            raise EncoderSettingsError(
                f"{self._source} gives features of the shape {one.shape[1:]}, not finite numbers in a row."
            )
        if not np.allclose(one, same, rtol=SAME_WITHIN, atol=SAME_WITHIN):
            raise EncoderSettingsError(f"{self._source} gives different features for the same image each time.")
        return one.shape[1]

    @staticmethod
    def _noise(seed: int) -> Image.Image:
        pixels = np.random.default_rng(seed).integers(0, 256, size=(PROBE_SIDE, PROBE_SIDE, 3), dtype=np.uint8)
        return Image.fromarray(pixels)


class VisionBackend:
    name = "vision"
    title = "Vision model of transformers or timm: images"
    queue = "gpu"
    needs = ("torch", "transformers")
    is_visual = True

    def check(self, spec: ModelSpec) -> None:
        folder_here(spec.source)
        check_options(spec, {"pool": POOLS})

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset({EncoderSubject.IMAGES})

    def load(self, spec: ModelSpec) -> VisionModel:
        # Before anything is fetched.
        transformers()
        return VisionModel(str(folder_of(spec)), pool=str(spec.options.get("pool", AUTO)))


def _check_timm(folder: Path, source: str) -> None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EncoderSettingsError(f"The config.json of {source} cannot be read: {error}") from error
    is_timm = isinstance(config, dict) and (config.get("model_type") == "timm_wrapper" or "model_type" not in config)
    if is_timm and "architecture" in config and importlib.util.find_spec("timm") is None:
        raise ExtraMissingError(f"{source} is a model of timm, which is not installed: {HOW_TIMM}.")


def image_encoder(name: str) -> ImageEncoder:
    """Load an encoder: `mobilenet`, or a CLIP-like or vision model in a folder, or name/model@commit of the hub.

    Raises research.inference.backends.encoders.EncoderSettingsError or
    research.inference.backends.encoders.ExtraMissingError.
    """
    if name == mobilenet.NAME:
        return mobilenet.MobileNet()
    try:
        config = read_json(folder_at(name), "config.json")
    except BackendSettingsError as refused:
        raise EncoderSettingsError(str(refused)) from refused
    return DualEncoder(name) if any(key in config for key in OF_TEXTS) else VisionModel(name)
