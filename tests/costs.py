"""What tests cost, in seconds of processor: measured in each run of pytest, added up by tests/run.py.

A test's cost is what its process and the processes that it started computed from its set-up to its teardown, Chromium
included. Nothing fails for its cost: `make test` ends with the folders beside their budgets and the ten dearest tests.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import is_long

BUDGETS = Path(__file__).parent / "budgets.json"
PLACE = "COSTS_FILE"
"""The variable that says where a run writes its costs and how many tests passed."""
TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
DEAREST = 10
COST = "processor_s"
OUTCOMES = ("passed", "failed", "error", "skipped", "rerun")

costs: dict[str, float] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the dearest folders, so that no process waits for another one's at the end."""
    budgets = json.loads(BUDGETS.read_text())
    if is_long(config):
        # What is dear in the long form alone.
        budgets |= dict.fromkeys(("tests/leaks", "tests/upgrade"), sum(budgets.values()))
    items.sort(key=lambda item: -budgets.get(folder_of(item.nodeid), 0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_STARTED_S] = _processor_s(item)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    before_s = _processor_s(item)
    result = yield
    # After the last test the browser and servers end, and what they computed is none of its cost.
    ended_s = before_s if nextitem is None else _processor_s(item)
    item.user_properties.append((COST, ended_s - item.stash[_STARTED_S]))
    return result


_STARTED_S = pytest.StashKey[float]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what each try cost; the processes of xdist tell their controller."""
    if report.when == "teardown":
        costs[report.nodeid] = costs.get(report.nodeid, 0) + sum(
            value for name, value in report.user_properties if name == COST and isinstance(value, float)
        )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if place := os.environ.get(PLACE):
        counted = {name: len(reports) for name, reports in terminalreporter.stats.items() if name in OUTCOMES}
        Path(place).write_text(json.dumps({"costs": costs, "outcomes": counted}))


def _processor_s(item: pytest.Item) -> float:
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    # Chromium runs from one test to the next, so that it has not ended yet.
    return total + (sum(_of_children(os.getpid())) if item.get_closest_marker("browser") else 0)


def _of_children(parent: int) -> Iterator[float]:
    """What each process below `parent` that still runs has computed so far; nothing where there is no /proc."""
    children: dict[int, list[tuple[int, float]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent_s = sum(map(int, fields[11:15])) * TICKS_S
        children.setdefault(int(fields[1]), []).append((int(stat.parent.name), spent_s))
    waiting = [parent]
    while waiting:
        for process, spent_s in children.get(waiting.pop(), ()):
            yield spent_s
            waiting.append(process)


def folder_of(test: str) -> str:
    parts = test.partition("::")[0].split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "tests"


def table(found: Mapping[str, float], budgets: Mapping[str, Any]) -> list[str]:
    """Lines: each folder beside its budget, then the dearest tests."""
    folders: dict[str, float] = defaultdict(float)
    for test, cost_s in found.items():
        folders[folder_of(test)] += cost_s
    lines = ["Seconds of processor by folder" + (", beside the budget in tests/budgets.json:" if budgets else ":")]
    for folder, cost_s in sorted(folders.items(), key=lambda one: -one[1]):
        budget_s = budgets.get(folder)
        over = "" if budget_s is not None and cost_s <= budget_s else "  OVER" if budget_s else "  has no budget"
        lines.append(f"{cost_s:8.1f} " + (f"{budget_s or 0:8.0f}  {folder}{over}" if budgets else folder))
    together_s = f"{sum(folders.values()):8.1f} " + (f"{sum(budgets.values()):8.0f}  " if budgets else "")
    lines.append(f"{together_s}altogether, without starting and collecting")
    lines.append(f"The {DEAREST} dearest tests:")
    dearest = sorted(found.items(), key=lambda one: -one[1])[:DEAREST]
    return lines + [f"{cost_s:8.1f}  {test}" for test, cost_s in dearest]
