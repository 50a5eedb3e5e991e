"""The metrics are a library by themselves: numpy and scipy are all that its modules ask for."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from tests.commands import run_python

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
A_SCORE = """
from crosslens_metrics.scoring import score
names = [scored.metric for scored in score(["a b"], [["a c"]], metrics=["cider", "cider-d", "bleu", "rouge-l"])]
assert len(names) == 7, names
"""
STRENGTHS = """
from crosslens_metrics.ranking import bradley_terry
try:
    bradley_terry([[0, 1], [1, 0]])
except ImportError as error:
    assert "pip install choix==" in str(error), error
else:
    raise AssertionError("choix is there")
"""


def run_alone(code: str, folder: Path = ROOT) -> str:
    return run_python("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + ALONE + code, cwd=folder)


@pytest.mark.parametrize("use", [EVERY_MODULE, A_SCORE, STRENGTHS], ids=["every module", "a score", "strengths"])
def test_numpy_and_scipy_are_enough_and_what_else_is_needed_is_named(use):
    run_alone(use)


def test_the_examples_of_the_documentation_run_as_they_stand(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    counts = {("a",): 2, ("dog",): 1, ("a", "dog"): 1}
    (tmp_path / "coco-val-df.p").write_bytes(pickle.dumps(counts, protocol=2))

    said = run_alone("\n".join(blocks) + "\nprint(relevance.per_image.round(3))", tmp_path)

    assert "cider-d|v:1|text:characters-1+norm-1|" in said
    assert said.endswith("[0.891 0.293]\n")
