"""The budget of a test and the choice of the tests that run, tried on small test files in a process of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import tiers
from tests.servers import ROOT

# As on a machine that does nothing else: the clock counts in full.
HEAD = "import pathlib, time, pytest, tests.tiers\ntests.tiers.PRESSURE = pathlib.Path('pressure')\n"
pytestmark = pytest.mark.sqlite


def outcomes(folder: Path, code: str, *options: str) -> tuple[dict[str, str], str]:
    """What became of each test of a file with this code, and all that pytest said."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.tiers"]\n')
    (folder / "test_it.py").write_text(HEAD + code)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow(reason)\n    long(reason)\n")
    (folder / "pressure").write_text("some total=0\n")
    plugins = [word for name in ("django", "xdist", "playwright", "schemathesis") for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", "-v", f"--rootdir={folder}", *plugins, *options, str(folder)]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=60
    )
    return dict(re.findall(r"::(\S+) (PASSED|FAILED)", done.stdout)), done.stdout + done.stderr


def test_a_test_over_the_budget_fails_unless_it_says_why_and_only_where_there_is_a_budget(tmp_path):
    found, said = outcomes(
        tmp_path,
        "def spin():\n"
        "    start = time.process_time()\n"
        "    while time.process_time() - start < 0.5: pass\n"
        "def test_computes(): spin()\n"
        "def test_waits(): time.sleep(0.5)\n"
        "def test_is_quick(): pass\n"
        "@pytest.mark.slow(reason='it must')\n"
        "def test_is_slow(): spin()\n",
        "--budget-s=0.1",
    )

    assert found == {
        "test_computes": "FAILED", "test_waits": "FAILED", "test_is_quick": "PASSED", "test_is_slow": "PASSED",
    }  # fmt: skip
    assert set(outcomes(tmp_path, "def test_waits(): time.sleep(0.5)\n")[0].values()) == {"PASSED"}
    assert re.search(r"took 0\.\d s of its own, more than 0\.\d s: .*CONTRIBUTING.md", said)


def test_what_others_keep_the_processor_from_us_for_does_not_count(tmp_path, monkeypatch):
    pressure = tmp_path / "cpu"
    pressure.write_text("some avg10=0.15 avg60=3.59 avg300=2.04 total=2500000\nfull avg10=0.00 total=0\n")
    monkeypatch.setattr(tiers, "PRESSURE", pressure)

    assert tiers._waited_s() == 2.5


def test_long_tests_run_when_they_are_asked_for(tmp_path):
    code = (
        "from tests.tiers import runs\n"
        "@pytest.mark.parametrize('run', runs(3, short=1))\n"
        "def test_race(run): pass\n"
        "@pytest.mark.long(reason='more of the same')\n"
        "def test_all(): pass\n"
    )

    assert set(outcomes(tmp_path, code)[0]) == {"test_race[0]"}
    assert set(outcomes(tmp_path, code, "--long")[0]) == {"test_race[0]", "test_race[1]", "test_race[2]", "test_all"}


@pytest.mark.parametrize("mark", ["slow", "long"])
def test_a_mark_without_a_reason_is_refused(tmp_path, mark):
    _, said = outcomes(tmp_path, f"@pytest.mark.{mark}\ndef test_it(): pass\n")

    assert f"test_it.py::test_it is marked {mark} without a reason=..." in said
