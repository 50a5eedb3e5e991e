"""How much memory a piece of work takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

AS_ALWAYS = (700, 10, 10)
"""Python's own thresholds: with those of tests/conftest.py more garbage would lie about and be counted."""


def peak_of(work: Callable[[], Any]) -> tuple[Any, int]:
    """What `work` returns, and the most bytes that Python had allocated for it at once."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(*AS_ALWAYS)
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*thresholds)
