"""Which tests run, and how long one may take.

`pytest` runs every test but those marked `long`, which `pytest --long` adds: the same rules again with more rivals,
more data or more ways. With `--budget-s 2` a test that takes more than two seconds of its own fails, unless it is
marked `slow`. `make test` does not ask for that, because times depend on the machine. Both marks give a reason, so that
a long way is a decision and not an accident.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

IN_A_BROWSER = 2.0
"""How many times as long a test in a browser may take: half of its time is Chromium's own."""
NOISE = 1.5
"""The same test takes half as long again from one run to the next: it fails where more than that cannot explain it."""
CALIBRATION_S = 0.030
"""Processor time of `_calibrate` on the machine that the budget is meant for; a slower one is given more."""
RUN_BY_ONE_PROCESS = (
    "tests/annotation/test_verification_pages.py",
    "tests/api/test_odd_requests.py",
    "tests/api/test_projects.py",
    "tests/api/test_work.py",
    "tests/browser/test_long_way.py",
    "tests/inference/test_encoder_decoder.py",
    "tests/inference/test_trainings.py",
    "tests/inference/test_transformer_runs.py",
    "tests/sxs_eval/test_across_pages.py",
    "tests/sxs_eval/test_exports.py",
    "tests/sxs_eval/test_reports.py",
    "tests/test_demo_content.py",
    "tests/test_demo_launcher.py",
)
"""Files whose tests share what takes a second or more to make, or on PostgreSQL to import."""
PRESSURE = Path("/proc/pressure/cpu")
OWN_S = pytest.StashKey[float]()


def some(values: Iterable[Any], *, short: int, reason: str) -> list[Any]:
    """Parameters of a test: the first `short` of `values` always, the others, for this `reason`, with `--long`.

    A tuple has one value for each of several parameters.
    """
    long = pytest.mark.long(reason=reason)
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=[long] if number >= short else []) for number, row in enumerate(rows)]


def runs(number: int, *, short: int) -> list[Any]:
    """Parameters of a race: `short` runs always, `number` with `--long`."""
    return some(
        range(number), short=short, reason="a fault that is there shows in a few runs; one that is rare in many"
    )


def is_long(config: pytest.Config) -> bool:
    return bool(config.getoption("--long"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")
    parser.addoption("--budget-s", type=float, help="fail tests that take more seconds of their own")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in (*item.iter_markers("slow"), *item.iter_markers("long")):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is marked {mark.name} without a reason=...")
    if not is_long(config):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    started_s, processor_s, waited_s = time.monotonic(), _processor_s(), _waited_s()
    try:
        return (yield)
    finally:
        # The clock, less what others kept the processor from us; never less than what this test itself computed.
        by_the_clock_s = time.monotonic() - started_s - (_waited_s() - waited_s)
        item.stash[OWN_S] = max(by_the_clock_s, _processor_s() - processor_s)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    own_s = item.stash.get(OWN_S, 0.0)
    budget_s: float = item.config.getoption("--budget-s") or math.inf
    if item.get_closest_marker("browser"):
        budget_s *= IN_A_BROWSER
    if call.when == "call" and report.passed and own_s > budget_s and not _may_be_slow(item):
        allowed_s = NOISE * budget_s * max(1.0, _calibrate() / CALIBRATION_S)
        if own_s > allowed_s:
            report.outcome = "failed"
            report.longrepr = (
                f"took {own_s:.1f} s of its own, more than {allowed_s:.1f} s: see “Two seconds for a test” in "
                "CONTRIBUTING.md"
            )
    return report


class Together(LoadScopeScheduling):
    """Hands tests out one by one in their order, and those of a file in `RUN_BY_ONE_PROCESS` together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file in RUN_BY_ONE_PROCESS else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    config.option.loadscopereorder = False
    return Together(config, log)


def _may_be_slow(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "long"))


def _processor_s() -> float:
    """Of this process, its threads, and the processes that it started and saw end."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _waited_s() -> float:
    """How long somebody on this machine has waited for a processor so far; where the system does not tell: always."""
    try:
        total = PRESSURE.read_text().partition("\n")[0].rpartition("total=")[2]
    except OSError:
        return time.monotonic()
    return int(total) / 1e6


def _calibrate() -> float:
    """Processor seconds that a fixed piece of work takes here and now."""
    start = time.process_time()
    total = 0
    for number in range(1_200_000):
        total += number % 7
    return time.process_time() - start
