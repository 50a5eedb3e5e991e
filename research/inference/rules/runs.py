"""Decide about runs from values alone: how to cut them into chunks, and how to name a variant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

SHARES = 16
"""Into so many chunks even a small collection is cut, so that several workers have something to do."""

MIN_CHUNK_SIZE, MAX_CHUNK_SIZE = 8, 64
"""In images. A batch never has more images than a chunk."""


def chunks_of(image_ids: Sequence[int]) -> list[bytes]:
    size = min(max(math.ceil(len(image_ids) / SHARES), MIN_CHUNK_SIZE), MAX_CHUNK_SIZE)
    return [pack_ids(image_ids[start : start + size]) for start in range(0, len(image_ids), size)]


def pack_ids(image_ids: Iterable[int]) -> bytes:
    return np.array(list(image_ids), dtype="<i8").tobytes()


def unpack_ids(packed: bytes | memoryview) -> list[int]:
    return [int(one) for one in np.frombuffer(bytes(packed), dtype="<i8")]


def variant_name(base: str, decoding: Mapping[str, Any], of: Mapping[str, Any]) -> str:
    """Name a variant after the settings in which it differs, like “BLIP · beams 5”."""
    parts = [_setting_text(name, value) for name, value in decoding.items() if value != of.get(name)]
    return f"{base} · {', '.join(parts)}"


def _setting_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        words = name.removeprefix("is_").replace("_", " ")
        return words if value else f"not {words}"
    return f"{name.replace('_', ' ')} {value}"
