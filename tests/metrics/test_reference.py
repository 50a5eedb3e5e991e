"""The API reference is made from docstrings in numpydoc's form: they name what a function takes, gives and raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import ROOT

LIBRARY = ROOT / "crosslens_metrics"
WITH_SHAPE_OR_UNIT = re.compile(r"ArrayLike|NDArray|Points|Interval|Generator|EncodedCaptions")
INTERNAL = {"comparison_text", "encoding", "n_grams", "text", "vocabulary"}
"""Modules that the others are made of."""
SECTION = r"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)"


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return (node for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))


FUNCTIONS = [
    pytest.param(function, id=f"{'.'.join(path.relative_to(LIBRARY).with_suffix('').parts)}.{function.name}")
    for path in sorted(LIBRARY.rglob("*.py"))
    if path.stem not in INTERNAL and "build" not in path.parts
    for function in functions_of(path)
]


def has_shape_or_unit(function: Any) -> bool:
    (node,) = function.values
    return bool(WITH_SHAPE_OR_UNIT.search(f"{ast.unparse(node.args)} {ast.unparse(node.returns)}"))


def section(function: ast.FunctionDef, name: str) -> str:
    match = re.search(SECTION.format(name=name), ast.get_docstring(function) or "", re.DOTALL | re.MULTILINE)
    return match[1] if match else ""


@pytest.mark.parametrize("function", filter(has_shape_or_unit, FUNCTIONS))
def test_arrays_and_figures_are_documented_with_what_they_are(function: ast.FunctionDef) -> None:
    assert section(function, "Parameters")
    assert section(function, "Returns") or section(function, "Yields") or ast.unparse(function.returns) == "None"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parameters_are_named_as_in_the_code(function: ast.FunctionDef) -> None:
    named = re.findall(r"^(\w[\w, ]*?)(?: :|$)", section(function, "Parameters"), re.MULTILINE)
    arguments = [*function.args.args, *function.args.kwonlyargs]
    names = [name for line in named for name in line.split(", ")]
    assert not names or sorted(names) == sorted(argument.arg for argument in arguments)
