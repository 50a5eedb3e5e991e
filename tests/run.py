"""`make test` and `make test-all`: pytest on each database in turn, and at the end what all of it cost.

    python -m tests.run          each test once, on the database where it can break
    python -m tests.run --all    everything on both, and SQLite's short tier without browsers on the newest Python
    python -m tests.run tests/people    some of them

With `--all`, docs/test-all.md says afterwards what came out. Whatever the tests started ends with this process, also
when it is interrupted: it adopts what loses its parent.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests import costs
from tests.servers import ROOT
from tests.torch_extra import WITHOUT_PYTORCH

DISTRIBUTED = ("--dist=loadfile", "--no-loadscope-reorder", "--max-worker-restart=2")
BECOME_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux's prctl."""
RESULT = ROOT / "docs" / "test-all.md"
KEPT = ROOT / ".pytest_cache" / "costs.json"
"""What each test cost in the last run."""
NEWEST = ".venv-newest"
SEEDED = {"PYTHONHASHSEED": "0"}
"""So that what depends on the order of a set comes out the same each time."""
INTERRUPTED_S = 30
NO_TESTS = 5
"""How pytest ends where none was chosen, as on PostgreSQL of a folder without a test for it."""
SQLITE = ("-n2",)
SQLITE_LONG = ("-n3",)
"""Three browsers leave a third of two cores idle; of `make test` only a tenth is in a browser."""
POSTGRES = ("-n3", "--ds=tests.settings_postgres")
"""Processes on two cores: rivals wait for locks of the server, so that a third has time."""


class TestRuns:
    """Runs of pytest one after the other: what came out, and what each test cost."""

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        self.folder, self.paths = folder, paths
        self.failed: list[str] = []
        self.lines: list[str] = []
        self.costs: dict[str, float] = defaultdict(float)

    def add(self, database: str, *options: str, python: str = sys.executable) -> None:
        name = f"{database} with Python {version_of(python)}"
        tell(f"\nOn {name}:")
        place, started_s = self.folder / f"{len(self.lines)}.json", time.monotonic()
        command = [python, "-m", "pytest", *DISTRIBUTED, *options, *self.paths]
        environment = os.environ | SEEDED | {costs.PLACE: str(place)}
        if python != sys.executable:
            environment[WITHOUT_PYTORCH] = "true"
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        try:
            ended = process.wait()
        except KeyboardInterrupt:
            # pytest has heard of it as well, and stops its servers.
            process.wait(INTERRUPTED_S)
            raise
        if ended not in ((0, NO_TESTS) if self.paths else (0,)):
            self.failed.append(name)
        found = json.loads(place.read_text()) if place.exists() else {"costs": {}, "outcomes": {}}
        for test, cost_s in found["costs"].items():
            self.costs[test] += cost_s
        counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found["outcomes"].items()))
        self.lines.append(f"{name}: {counted} in {time.monotonic() - started_s:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="everything on both databases")
    parser.add_argument("paths", nargs="*", help="files or folders of tests; otherwise all")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(143))
    adopt_what_loses_its_parent()
    try:
        with tempfile.TemporaryDirectory(prefix="crosslens_costs_") as folder:
            return run(TestRuns(Path(folder), options.paths), everything=options.all)
    except KeyboardInterrupt:
        tell("Interrupted.")
        return 130
    finally:
        end_what_was_started()


def run(runs: TestRuns, *, everything: bool) -> int:
    started_s = time.monotonic()
    long = ["--long"] if everything else []
    runs.add("PostgreSQL", *POSTGRES, *long)
    runs.add("SQLite", *(SQLITE_LONG if everything else SQLITE), *long)
    if everything and (newest := newest_python()):
        runs.add("SQLite", *SQLITE, "-m", "not browser", python=newest)
    budgets = {} if everything else json.loads(costs.BUDGETS.read_text())
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(runs.costs, indent=0))
    tell("", *costs.table(runs.costs, budgets), "", *runs.lines)
    if everything and not runs.paths:
        note(runs, minutes=round((time.monotonic() - started_s) / 60))
    if runs.failed:
        tell(f"Tests failed on {' and '.join(runs.failed)}.")
    return bool(runs.failed)


def newest_python() -> str | None:
    """The newest Python that is here and newer than this one, in an environment without PyTorch."""
    installed = [shutil.which(f"python3.{minor}") for minor in range(12, 20)]
    installed += map(str, Path.home().glob(".pyenv/versions/*/bin/python3"))
    versions = {version_of(python): python for python in installed if python}
    newest = max(versions, key=lambda version: tuple(map(int, version.split("."))), default="0")
    if tuple(map(int, newest.split("."))) <= sys.version_info[:3]:
        tell(f"There is no newer Python here than {version_of(sys.executable)}.")
        return None
    made = subprocess.run(
        ["make", f"VENV={NEWEST}", f"PYTHON={versions[newest]}", f"{NEWEST}/.installed-dev"], cwd=ROOT, check=False
    )
    return None if made.returncode else str(ROOT / NEWEST / "bin" / "python")


def version_of(python: str) -> str:
    """Its version, "0" where it does not start, as with pyenv's stand-ins for versions that are not chosen."""
    told = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=False
    )
    return told.stdout.strip().partition("rc")[0] or "0"


def note(runs: TestRuns, *, minutes: int) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    outcome = f"**failed** on {' and '.join(runs.failed)}" if runs.failed else "passed"
    lines = [
        "# The last `make test-all`",
        "",
        f"Commit {commit or 'unknown'} {outcome} on {datetime.now(UTC):%d %B %Y}, in {minutes} minutes:",
        "",
        *(f"- {line}" for line in runs.lines),
    ]
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


def adopt_what_loses_its_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)


def end_what_was_started() -> None:
    """End servers and browsers that a process of tests did not live to end itself."""
    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=10)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def tell(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
