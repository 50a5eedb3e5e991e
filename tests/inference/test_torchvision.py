"""Qwen2-VL, Qwen3-VL, LLaVA-OneVision, InternVL and SmolVLM, which transformers loads with torchvision only.

See requirements/gpu.txt.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.servers import ROOT
from tests.torch_extra import needs_torch


@pytest.mark.process
@needs_torch
@pytest.mark.long(reason="a process of its own, which imports PyTorch, transformers and torchvision")
def test_models_that_need_torchvision_caption_as_their_makers_code_does():
    command = [sys.executable, "-m", "pytest", "-p", "tests.torchvision_beside", "tests/inference/watchers.py", "-q"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "5 passed" in ended.stdout, ended.stdout + ended.stderr
