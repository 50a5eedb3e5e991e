"""The wheel carries all that the platform reads, starts an installation, and writes nothing where it is installed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import ROOT, embedded_environment
from tests.test_demo_launcher import Demo

pytestmark = [pytest.mark.process, pytest.mark.long(reason="a wheel is built, installed and started")]
PASSWORD = "heron-on-one-leg-4"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, which finds all other packages in that of the tests."""
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*pip, *wheel], check=True, timeout=300)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=60)
    (made,) = folder.glob("crosslens-*.whl")
    python = folder / "env" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", str(made)], check=True, timeout=300)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return packages


@pytest.fixture
def platform(installed: Path, tmp_path: Path) -> Iterator[Demo]:
    platform = Demo(tmp_path / "data", [str(installed.parents[2] / "bin" / "crosslens")])
    yield platform
    for pid in platform.processes():
        os.kill(pid, signal.SIGKILL)


def files(packages: Path) -> set[Path]:
    found = (packages / "crosslens_platform").rglob("*")
    return {path for path in found if path.suffix != ".pyc" and path.name != "__pycache__"}


def test_whoever_installs_the_wheel_starts_it_and_makes_the_first_account(installed: Path, platform: Demo):
    before = files(installed)
    said = platform.start(command="start", options=["--data", str(platform.var)], until="works once")
    address = re.search(r"http://\S+/accounts/password/\S+", said)[0]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    form = browser.open(address, timeout=30)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.read().decode())[1]
    chosen = {"csrfmiddlewaretoken": token, "password1": PASSWORD, "password2": PASSWORD}
    request = urllib.request.Request(form.url, urllib.parse.urlencode(chosen).encode(), {"Referer": form.url})
    page = browser.open(request, timeout=30)

    assert page.status == 200
    assert "New project" in page.read().decode()
    german = urllib.request.Request(
        f"http://127.0.0.1:{platform.port}/accounts/login/", headers={"Accept-Language": "de"}
    )
    assert 'lang="de"' in urllib.request.urlopen(german, timeout=30).read().decode()
    platform.process.send_signal(signal.SIGINT)
    assert platform.ends() == 0
    assert files(installed) == before


def test_the_installed_command_runs_every_other_command_and_says_what_there_is(installed: Path, tmp_path: Path):
    command = installed.parents[2] / "bin" / "crosslens"
    env = embedded_environment(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        what = [str(command), *arguments]
        return subprocess.run(what, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert "crosslens start" in run().stderr
    listed = run("manage", "list_backends")
    assert listed.returncode == 0, listed.stderr
    assert "palette" in listed.stdout
