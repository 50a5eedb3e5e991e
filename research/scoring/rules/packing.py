"""Pack columns of numbers as bytes of a row: 64 bits each, little-endian on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FLOATS, INTEGERS = np.dtype("<f8"), np.dtype("<i8")


def pack_floats(values: ArrayLike) -> bytes:
    return np.asarray(values, dtype=FLOATS).tobytes()


def pack_integers(values: ArrayLike) -> bytes:
    return np.asarray(values, dtype=INTEGERS).tobytes()


def unpack_floats(content: Any) -> NDArray[np.float64]:
    """Unpack `content`, which is bytes from one database and a memoryview from another."""
    return np.frombuffer(bytes(content), dtype=FLOATS).astype(np.float64)


def unpack_integers(content: Any) -> NDArray[np.int64]:
    return np.frombuffer(bytes(content), dtype=INTEGERS).astype(np.int64)
