"""The metrics are a library by themselves: numpy and scipy are all that its modules ask for."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from tests.commands import run_python

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
ALONE = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        is_standard = top in sys.stdlib_module_names or top.startswith("_")
        if not is_standard and top not in {"crosslens_metrics", "numpy", "scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
EVERY_MODULE = """
import crosslens_metrics
for module in pkgutil.walk_packages(crosslens_metrics.__path__, "crosslens_metrics."):
    if module.name.endswith("__main__"):
        continue
    importlib.import_module(module.name)
"""


def run_alone(code: str, folder: Path = ROOT) -> str:
    return run_python("-c", f"import sys; sys.path.insert(0, {str(ROOT / 'libs')!r})\n" + ALONE + code, cwd=folder)


def test_numpy_and_scipy_are_enough_to_import_every_module():
    run_alone(EVERY_MODULE)


def test_the_examples_of_the_documentation_run_as_they_stand(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    counts = {("a",): 2, ("dog",): 1, ("a", "dog"): 1}
    (tmp_path / "coco-val-df.p").write_bytes(pickle.dumps(counts, protocol=2))

    said = run_alone("\n".join(blocks) + "\nprint(relevance.per_image.round(3))", tmp_path)

    assert "cider-d|v:1|text:characters-1+norm-1|" in said
    assert said.endswith("[0.891 0.293]\n")
