"""Which tests run and what the end of a run says of their cost, tried on a small file in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import costs
from tests.servers import ROOT

CODE = """
import os, pytest
from tests.tiers import runs

@pytest.mark.parametrize("run", runs(3))
def test_race(run): pass

@pytest.mark.long(reason="more of the same")
def test_all(): pass

@pytest.mark.postgres
@pytest.mark.parametrize("run", runs(3))
def test_lock(run): pass

@pytest.mark.process
def test_browser(tmp_path_factory):
    seen = tmp_path_factory.getbasetemp().parent / f"seen-{os.getpid()}"
    is_first = not seen.exists()
    seen.touch()
    assert not is_first
"""
pytestmark = pytest.mark.process


def run(folder: Path, code: str, *options: str) -> tuple[set[str], str]:
    """The tests that passed in a file with this code, and all that pytest said."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.tiers", "tests.costs"]\n')
    (folder / "test_it.py").write_text(code)
    marks = "".join(f"\n    {mark}" for mark in ("long(reason)", "postgres", "process", "browser"))
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers ={marks}\n")
    plugins = [word for name in ("django", "xdist", "playwright", "schemathesis") for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", "-v", "-rR", f"--rootdir={folder}", f"--basetemp={folder}/tmp", *plugins]
    done = subprocess.run(
        [*command, *options, str(folder)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return set(re.findall(r"::(\S+) PASSED", done.stdout)), done.stdout + done.stderr


def test_long_tests_and_those_of_postgresql_run_where_they_are_asked_for_and_processes_get_a_second_try(tmp_path):
    short, said = run(tmp_path, CODE)

    assert short == {"test_race[0]", "test_browser"}
    assert re.search(r"^RERUN test_it.py::test_browser", said, re.MULTILINE)
    assert run(tmp_path, CODE, "--long")[0] == {f"test_race[{number}]" for number in range(3)} | {
        *("test_all", "test_lock[0]", "test_browser")
    }


def test_a_long_test_without_a_reason_is_refused(tmp_path):
    _, said = run(tmp_path, "import pytest\n@pytest.mark.long\ndef test_it(): pass\n")

    assert "test_it.py::test_it is marked long without a reason=..." in said


def test_folders_over_their_budget_and_the_dearest_tests_are_named():
    found = {f"tests/gapgame/test_it.py::test_{number}": float(number) for number in range(12)}
    lines = costs.table(found | {"tests/test_it.py::test_it": 1.0}, {"tests/gapgame": 60, "tests": 2})

    assert any(re.fullmatch(r" +66\.0 +60  tests/gapgame  OVER", line) for line in lines)
    assert any(re.fullmatch(r" +1\.0 +2  tests", line) for line in lines)
    assert any(re.match(r" +67\.0 +62  altogether", line) for line in lines)
    assert [line.rpartition("::test_")[2] for line in lines[-10:]] == [str(number) for number in range(11, 1, -1)]
