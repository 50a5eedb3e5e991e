"""How well the tests hold: change one thing in the code at a time, and see whether a test fails.

    python -m tools.scripts.mutants map [--long]             which tests run which lines, once (slow: all of make test)
    python -m tools.scripts.mutants run --number 200 --seed 1
    python -m tools.scripts.mutants run --doors --number 40 --seed 1    permission checks removed, against who_may.txt

A mutant is drawn from services, permissions, rules, selectors and the metrics: a comparison, a condition, an operator,
a number or a truth value changed, or a statement left out. It is tried against the tests that run its line, cheapest
first, on both databases, in a copy of the checkout. What no test notices is printed and kept in var/mutants.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from config import ROOT
from tests.run import adopt_what_loses_its_parent, end_what_was_started

KEPT = ROOT / "var" / "mutants"
SCOPE = (
    *(f"{folder}/{files}" for folder in ("*", "*/*") for files in (
        "services/*.py", "services.py", "permissions.py", "permissions/*.py", "rules/*.py", "rules.py",
        "selectors/*.py", "selectors.py",
    )),
    "libs/crosslens_metrics/**/*.py",
)  # fmt: skip
DOORS = tuple(
    f"{folder}/{files}"
    for folder in ("*", "*/*")
    for files in ("permissions.py", "permissions/*.py", "views/*.py", "api/*.py")
)
COPIED = ("tests/", "docs/", "tools/")
REFUSAL = re.compile("Http404|PermissionDenied|NotFound")
HANGS_S = 120
"""A test that takes this long, alone or beside one other, goes round for ever."""
UNNOTICED = ("survived", "not run", "not Python")
ONE_BY_ONE = ("-xq", "-n0", "--show-capture=no", "-pno:cacheprovider", "--no-header",
              f"-ofaulthandler_timeout={HANGS_S}", "-ofaulthandler_exit_on_timeout=true")  # fmt: skip
DATABASES = {"sqlite": (), "postgres": ("--ds=tests.settings_postgres",)}
OPPOSITES: dict[type, str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip


@dataclass(frozen=True)
class CodeMutant:
    file: str
    line: int
    what: str
    start: int
    end: int
    instead: str

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.start] + self.instead.encode() + source[self.end :]


def mutants_of(path: Path, *, doors: bool) -> Iterator[CodeMutant]:
    source, file = path.read_bytes(), str(path.relative_to(ROOT))
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def made(node: Any, instead: str, what: str) -> CodeMutant:
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return CodeMutant(
            str(path.relative_to(ROOT)), node.lineno, f"{what}: {ast.unparse(node)[:70]}", start, end, instead
        )

    def between(left: Any, right: Any, operator: ast.AST) -> CodeMutant:
        start, end = starts[left.end_lineno - 1] + left.end_col_offset, starts[right.lineno - 1] + right.col_offset
        text = source[start:end].decode()
        # Brackets that close before the operator and open after it stay.
        before, after = text.count(")"), text.count("(")
        instead = ")" * before + f" {OPPOSITES[type(operator)]} " + "(" * after
        what = f"{type(operator).__name__} to {OPPOSITES[type(operator)]} before {ast.unparse(right)[:40]}"
        return CodeMutant(file, right.lineno, what, start, end, instead)

    for node in _inside_functions(ast.parse(source)):
        if doors:
            yield from _door(node, made)
            continue
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in OPPOSITES:
                yield between(left, right, operator)
            case ast.BoolOp(op=operator, values=[left, right]):
                yield between(left, right, operator)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPPOSITES:
                yield between(left, right, operator)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield made(node, f"({ast.unparse(operand)})", "not left out")
            case ast.If(test=test) | ast.IfExp(test=test):
                yield made(test, f"not ({ast.unparse(test)})", "condition turned round")
            case ast.Constant(value=bool() as value):
                yield made(node, str(not value), "truth")
            case ast.Constant(value=int() as value):
                yield made(node, str(value + 1), "number")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield made(value, "None", "nothing returned")
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
                yield made(node, "pass", "left out")


def _door(node: ast.AST, made: Any) -> Iterator[CodeMutant]:
    """A refusal that is left out, a role that any will do for, a condition that is not asked for, no signing in."""
    match node:
        case ast.Raise(exc=ast.expr() as refusal) if REFUSAL.search(ast.unparse(refusal)):
            yield made(node, "pass", "refusal left out")
        case ast.Attribute(value=ast.Name(id="Role")):
            yield made(node, "*list(Role)", "any role will do")
        case ast.Call(func=ast.Attribute(attr="filter" | "get"), keywords=keywords):
            for keyword in keywords:
                if re.search("user|person|member|role|author|created_by|project", keyword.arg or ""):
                    yield made(keyword, "pk__isnull=False", "condition left out")
        case ast.FunctionDef(decorator_list=decorators):
            for decorator in decorators:
                if re.search("login|permission|only|required", ast.unparse(decorator)):
                    yield made(decorator, "(lambda view: view)", "decorator left out")


def _inside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            yield ast.FunctionDef("", function.args, [], decorator_list=function.decorator_list)
            for statement in function.body:
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    yield from ast.walk(statement)


def drawn(number: int, seed: int, *, doors: bool) -> list[CodeMutant]:
    """Draw `number` mutants of all, as the seed has it."""
    patterns = DOORS if doors else SCOPE
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern) if "migrations" not in path.parts})
    paths = [path for path in paths if not str(path.relative_to(ROOT)).startswith((*COPIED, ".", "var"))]
    found = {
        (one.file, one.start, one.end, one.instead): one for path in paths for one in mutants_of(path, doors=doors)
    }
    return random.Random(seed).sample(
        sorted(found.values(), key=lambda one: (one.file, one.start, one.instead)), number
    )


# The map: as a plugin of pytest it notes for each test the lines that it runs of the files with mutants.


class LineMap:
    def __init__(self, files: list[str]) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, include=[str(ROOT / file) for file in files])
        self.coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
        worker = getattr(session.config, "workerinput", {}).get("workerid", "main")
        (KEPT / f"{os.environ['MUTANTS_MAP']}-{worker}.json").write_text(json.dumps(lines))


def pytest_configure(config: pytest.Config) -> None:
    if "MUTANTS_MAP" in os.environ and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(LineMap(json.loads((KEPT / "files.json").read_text())), "line-map")


def make_map(mutants: list[CodeMutant], *, long: bool) -> None:
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    (KEPT / "files.json").write_text(json.dumps(sorted({mutant.file for mutant in mutants})))
    for database, options in DATABASES.items():
        environment = os.environ | {"MUTANTS_MAP": database, "COSTS_FILE": str(KEPT / f"costs-{database}.json")}
        chosen = [*options, *["--long"] * long]
        command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "tools.scripts.mutants", *chosen]
        subprocess.run(command, cwd=ROOT, env=environment, check=False)


def tests_of(mutant: CodeMutant) -> dict[str, list[str]]:
    """The tests of each database that run its line, the cheapest first; what runs as it is imported, all of its app."""
    found = {}
    for database in DATABASES:
        costs = json.loads((KEPT / f"costs-{database}.json").read_text())["costs"]
        tests: set[str] = set()
        for part in KEPT.glob(f"{database}-*.json"):
            tests |= set(json.loads(part.read_text()).get(str(ROOT / mutant.file), {}).get(str(mutant.line), ()))
        found[database] = sorted(tests - {""}, key=lambda test: costs.get(test, 0))
    return found


# Trying them, two at a time, each in a copy of the checkout.


def outcome_of(mutant: CodeMutant, copy: Path, tests: Mapping[str, list[str]]) -> str:
    """Return which test noticed it, "survived", "not run" where no test runs its line, or "not Python"."""
    source = (ROOT / mutant.file).read_bytes()
    changed = mutant.applied_to(source)
    try:
        ast.parse(changed)
    except SyntaxError:
        return "not Python"
    try:
        (copy / mutant.file).write_bytes(changed)
        for database, options in DATABASES.items():
            if not tests[database]:
                continue
            (copy / "tests.txt").write_text("\n".join(tests[database]))
            command = [sys.executable, "-m", "pytest", *ONE_BY_ONE, *options, "@tests.txt"]
            done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
            if done.returncode:
                noticed = re.findall(r"^(?:FAILED|ERROR) (.{,150})", done.stdout, re.MULTILINE)
                hung = "a test goes on for ever" if "Timeout (" in done.stderr else ""
                ended = hung or done.stdout[-200:] + done.stderr[-200:]
                return f"{database}: {noticed[0] if noticed else ended}"
    finally:
        (copy / mutant.file).write_bytes(source)
    return "survived" if any(tests.values()) else "not run"


def run(mutants: list[CodeMutant], tests: Callable[[CodeMutant], Mapping[str, list[str]]], name: str) -> None:
    copies: Queue[Path] = Queue()
    for number in range(2):
        copies.put(_copy(Path(tempfile.gettempdir()) / f"crosslens_mutants_{number}"))

    def outcome(mutant: CodeMutant) -> str:
        copy = copies.get()
        try:
            return outcome_of(mutant, copy, tests(mutant))
        finally:
            copies.put(copy)

    control = CodeMutant(mutants[0].file, mutants[0].line, "nothing changed", 0, 0, "")
    assert outcome(control) == "survived", "The tests fail by themselves."
    found = []
    adopt_what_loses_its_parent()
    with ThreadPoolExecutor(2) as pool:
        for mutant, came_out in zip(mutants, pool.map(outcome, mutants), strict=True):
            found.append(asdict(mutant) | {"outcome": came_out})
            (KEPT / f"{name}.json").write_text(json.dumps(found, indent=1))
            sys.stdout.write(f"{mutant.file}:{mutant.line} {mutant.what}: {came_out}\n")
            sys.stdout.flush()
    end_what_was_started()
    outcomes = Counter(one["outcome"] if one["outcome"] in UNNOTICED else "noticed" for one in found)
    sys.stdout.write(", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common()) + "\n")


def _copy(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", "var", "__pycache__", ".mypy_cache"))
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["map", "run"])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--doors", action="store_true")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    mutants = drawn(options.number, options.seed, doors=options.doors)
    if options.what == "map":
        make_map(mutants, long=options.long)
    elif options.doors:
        KEPT.mkdir(parents=True, exist_ok=True)
        run(mutants, lambda _mutant: {"sqlite": ["tests/doors/test_who_may.py"], "postgres": []}, "doors")
    else:
        run(mutants, tests_of, "run")


if __name__ == "__main__":
    main()
