"""The metrics are a library by themselves: numpy and scipy are all that its modules ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        is_standard = top in sys.stdlib_module_names or top.startswith("_")
        if not is_standard and top not in {"metrics", "numpy", "scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
EVERY_MODULE = """
import metrics
for module in pkgutil.iter_modules(metrics.__path__):
    importlib.import_module(f"metrics.{module.name}")
"""
A_SCORE = """
from metrics.scoring import score
names = [scored.metric for scored in score(["a b"], [["a c"]], metrics=["cider", "cider-d", "bleu", "rouge-l"])]
assert len(names) == 7, names
"""
STRENGTHS = """
from metrics.ranking import bradley_terry
try:
    bradley_terry([[0, 1], [1, 0]])
except ImportError as error:
    assert "pip install choix==" in str(error), error
else:
    raise AssertionError("choix is there")
"""


@pytest.mark.parametrize("use", [EVERY_MODULE, A_SCORE, STRENGTHS], ids=["every module", "a score", "strengths"])
def test_numpy_and_scipy_are_enough_and_what_else_is_needed_is_named(use):
    found = subprocess.run(
        [sys.executable, "-c", ALONE + use], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert found.returncode == 0, found.stderr
