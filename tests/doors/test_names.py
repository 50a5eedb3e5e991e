"""Tests choose addresses by their names and beginnings: one that no address has any more would choose nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.leaks.addresses import routes, routes_of
from tests.servers import ROOT
from tools.scripts.checks.sources import files_in

pytestmark = pytest.mark.sqlite

ROUTES = {route.name for route in routes()}
NAMESPACES = {name.partition(":")[0] for name in ROUTES if ":" in name}
NAME = re.compile(rf"((?:{'|'.join(sorted(NAMESPACES))}):[\w-]*)(?: \w+)?")
CHOOSING = ("tests/doors", "tests/leaks")
COMPARING = {"startswith", "check"}


def constants(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def names_in(path: Path) -> set[str]:
    """Names of routes, and their beginnings up to the end of a word."""
    text = path.read_text(encoding="utf-8")
    return {found[1] for one in constants(ast.parse(text)) if (found := NAME.fullmatch(one))}


def beginnings_in(path: Path) -> set[str]:
    """What addresses are compared with by `startswith`, and by `check` of a walk."""
    calls = [one for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.Call)]
    chosen = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in COMPARING]
    return {text for call in chosen for text in constants(call) if re.fullmatch(r"/(?:[\w-]+/)+", text)}


def is_there(name: str) -> bool:
    beginning = name if name.endswith(("-", "_", ":")) else f"{name}-"
    return name in ROUTES or any(route.startswith(beginning) for route in ROUTES)


@pytest.mark.long(reason="reads every test")
def test_every_name_of_an_address_in_a_test_is_one() -> None:
    files = [path for path in files_in("tests") if path != Path(__file__)]
    named = {name: path for path in files for name in names_in(path)}
    assert len(named) > 200
    assert {name: str(path.relative_to(ROOT)) for name, path in named.items() if not is_there(name)} == {}


def test_every_beginning_that_addresses_are_chosen_by_is_that_of_one() -> None:
    chosen = {beginning for path in files_in(*CHOOSING) for beginning in beginnings_in(path)}
    addresses = [f"/{route.template}" for route in routes()]
    assert len(chosen) > 4
    assert [one for one in sorted(chosen) if not any(address.startswith(one) for address in addresses)] == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert not is_there("inference:gone")
    assert not is_there("inference:gone-")
    with pytest.raises(AssertionError, match="pictures:"):
        routes_of("images:", "pictures:")
