"""The wheel carries all that the platform reads, starts an installation, and writes nothing where it is installed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import ROOT, embedded_environment
from tests.test_demo_launcher import Demo

pytestmark = [pytest.mark.process, pytest.mark.long(reason="a wheel is built, installed and started")]
PASSWORD = "heron-on-one-leg-4"


MAX_MB = 400
"""Of an environment with the wheel and all that it needs."""
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    what = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*PIP, *what], check=True, timeout=300)
    (made,) = folder.glob("crosslens-*.whl")
    return made


def environment(folder: Path, *installed: str) -> Path:
    """Make an environment with what pip installs, and return the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    pip = [*PIP, "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*pip, *installed], check=True, timeout=600)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    return packages


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The packages of an environment with the wheel, which finds all others in that of the tests."""
    packages = environment(wheel.parent / "env", "--no-deps", str(wheel))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return packages


@pytest.fixture
def platform(installed: Path, tmp_path: Path) -> Iterator[Demo]:
    with ended(Demo(tmp_path / "data", [str(installed.parents[2] / "bin" / "crosslens")])) as platform:
        yield platform


@contextmanager
def ended(platform: Demo) -> Iterator[Demo]:
    """Kill what is left of it in the end."""
    try:
        yield platform
    finally:
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


@pytest.fixture
def whole(wheel: Path, tmp_path: Path) -> Path:
    """The packages of an environment of its own with the wheel and all that it needs, from where pip finds them."""
    probe = ["download", "--no-deps", "--dest", str(tmp_path / "probe"), "asgiref"]
    if subprocess.run([*PIP, *probe], capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("pip finds no packages here, so that what the wheel needs cannot be installed")
    return environment(tmp_path / "env", str(wheel))


def test_the_wheel_with_all_that_it_needs_is_small_and_shows_its_first_page(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    megabytes = sum(path.lstat().st_size for path in whole.parents[2].rglob("*")) / 1e6
    with ended(Demo(tmp_path / "data", [str(whole.parents[2] / "bin" / "crosslens")])) as platform:
        began = time.monotonic()
        said = platform.start(command="start", options=["--data", str(platform.var)], until="works once")
        address = re.search(r"http://\S+/accounts/password/\S+", said)[0]
        assert urllib.request.urlopen(address, timeout=30).status == 200
        seconds = time.monotonic() - began
        platform.process.send_signal(signal.SIGINT)
        assert platform.ends() == 0
    with capsys.disabled():
        sys.stdout.write(f"\n{megabytes:.0f} MB installed; the first page {seconds:.1f} s after the start\n")
    assert megabytes < MAX_MB
