"""The API reference is made from docstrings in numpydoc's form: they name what a function takes, gives and raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.scripts.checks.sources import TextFinding, at, files_in, text_of, unless

WITH_SHAPE_OR_UNIT = re.compile(r"ArrayLike|NDArray|Points|Interval|Generator")
INTERNAL = {"encoding", "figures", "n_grams", "text", "vocabulary"}
"""Modules that the others are made of."""
SECTION = r"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)"


def check(*folders: str) -> Iterator[TextFinding]:
    for path in files_in(*(folders or ("libs/crosslens_metrics",))):
        if path.stem not in INTERNAL and "build" not in path.parts:
            for node in ast.parse(text_of(path)).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    yield from of_function(path, node)


def of_function(path: Path, node: ast.FunctionDef) -> Iterator[TextFinding]:
    if WITH_SHAPE_OR_UNIT.search(f"{ast.unparse(node.args)} {node.returns and ast.unparse(node.returns)}"):
        gives = section(node, "Returns") or section(node, "Yields") or ast.unparse(node.returns or node) == "None"
        is_said = section(node, "Parameters") and gives
        yield from unless(
            is_said, path, node.lineno, f"{node.name} does not say what its arrays are", "add Parameters and Returns"
        )
    lines = re.findall(r"^(\w[\w, ]*?)(?: :|$)", section(node, "Parameters"), re.MULTILINE)
    named = {name for line in lines for name in line.split(", ")}
    differing = named ^ {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)} if named else set()
    for name in sorted(differing):
        yield at(
            path, node.lineno, f"{node.name} has no parameter {name}, or does not explain it", "name those of the code"
        )


def section(node: ast.FunctionDef, name: str) -> str:
    found = re.search(SECTION.format(name=name), ast.get_docstring(node) or "", re.DOTALL | re.MULTILINE)
    return found[1] if found else ""
