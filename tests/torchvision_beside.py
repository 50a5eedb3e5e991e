"""A plugin, `pytest -p tests.torchvision_beside`: torchvision, also where only a build for another PyTorch exists.

Its operators in C++ are then missing and their names, which its import asks for, are declared here. What transformers
takes of torchvision, resizing and normalising, is written in PyTorch. Only for a process of its own: transformers would
prepare images otherwise in every test that follows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

BESIDE = Path(sys.prefix) / "torchvision"
"""Where the Makefile puts a torchvision that does not fit."""

if BESIDE.is_dir():
    sys.path.insert(0, str(BESIDE))
    declared = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        declared.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
