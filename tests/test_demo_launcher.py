"""`manage.py demo` from outside: it starts, serves, says who can sign in, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from tests.database import copy_file
from tests.servers import ROOT, embedded_environment, free_port
from tools.demo import content, launcher, preparation

START_S = 300
STOP_S = 30


class Demo:
    """A demo in a folder of its own, as somebody at a terminal has it."""

    def __init__(self, var: Path, program: Sequence[str] = (sys.executable, str(ROOT / "manage.py"))) -> None:
        self.var = var
        self.program = program
        self.port = free_port()
        self.log = var.parent / "demo.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, command: str = "demo", options: Sequence[str] = (), until: str = "mara") -> str:
        """Start it and return what it printed up to the names of those who can sign in, or to `until`."""
        said = self._started([command, *options], until)
        while "cannot be used" in said:
            self.port = free_port()
            said = self._started([command, *options], until)
        assert self.process.poll() is None, said
        return said

    def _started(self, command: Sequence[str], until: str) -> str:
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [*self.program, *command, "--port", str(self.port)],
                cwd=self.var.parent,
                env=embedded_environment(self.var),
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.wait(lambda: until in self.log.read_text() or self.process.poll() is not None, START_S)
        return self.log.read_text()

    def wait(self, condition: Callable[[], object], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def page(self, path: str) -> bytes:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=20) as answer:
            return answer.read()

    def processes(self, what: str = "") -> list[int]:
        """Everything that runs with this demo's folder, itself included."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if f"CROSSLENS_VAR={self.var}".encode() in environment and what in command:
                found.append(int(folder.name))
        return sorted(found)

    def ends(self) -> int:
        code = self.process.wait(STOP_S)
        assert self.processes() == []
        return code


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Demo]:
    """One that was never started."""
    demo = Demo(tmp_path / "var")
    yield demo
    for pid in demo.processes():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def demo(new: Demo) -> Demo:
    """One that takes itself for prepared: with all tables, and nothing in them."""
    copy_file(new.var / "crosslens.sqlite3")
    done = {"fingerprint": preparation.fingerprint(ROOT), "edition": preparation.EDITION}
    (new.var / "prepared.json").write_text(json.dumps(done))
    return new


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.process
def test_it_serves_says_who_can_sign_in_and_ends_everything_when_asked(demo: Demo):
    serves_and_ends(demo, demo.start(), signal.SIGINT, page="/healthz", shows=b"ok")


@pytest.mark.process
@pytest.mark.long(reason="the whole demo is loaded")
def test_a_new_one_is_prepared_first(new: Demo):
    serves_and_ends(new, new.start(), signal.SIGTERM, page="/accounts/login/", shows=b"<form")


@pytest.mark.process
@pytest.mark.long(reason="an installation is prepared and started")
def test_an_empty_installation_says_where_to_make_the_first_account(new: Demo):
    said = new.start(command="start", options=["--data", str(new.var)], until="works once")
    assert str(new.var) in said
    assert b"Choose a new password" in new.page("/accounts/password" + said.split("/accounts/password")[1].split()[0])
    new.process.send_signal(signal.SIGINT)
    assert new.ends() == 0


def serves_and_ends(demo: Demo, said: str, how: signal.Signals, *, page: str, shows: bytes) -> None:
    assert f"http://127.0.0.1:{demo.port}/" in said
    assert re.search(r"anna-de +\S+", said)
    assert shows in demo.page(page)
    demo.wait(lambda: len(demo.processes("celery")) > 1, START_S)

    demo.process.send_signal(how)

    assert demo.ends() == 0
    assert "Traceback" not in demo.log.read_text()


@pytest.mark.process
@pytest.mark.long(reason="the demo is started again")
@pytest.mark.parametrize(("part", "command"), [("web server", "config.serve"), ("worker", "celery")])
def test_when_one_part_dies_the_other_is_ended_and_it_says_which(demo: Demo, part: str, command: str):
    demo.start()
    demo.wait(lambda: demo.processes(command), START_S)

    os.kill(demo.processes(command)[0], signal.SIGKILL)

    assert demo.ends() != 0
    assert f"The {part} was killed by SIGKILL" in demo.log.read_text()


@pytest.mark.process
@pytest.mark.long(reason="the demo is started again")
def test_beat_is_started_again_and_nothing_is_left_of_a_launcher_that_was_killed(demo: Demo):
    demo.start()
    demo.wait(lambda: demo.processes(" beat "), START_S)
    (beat,) = demo.processes(" beat ")

    os.kill(beat, signal.SIGKILL)

    demo.wait(lambda: demo.processes(" beat ") not in ([], [beat]), START_S)

    demo.process.kill()

    demo.process.wait()
    demo.wait(lambda: demo.processes() == [], STOP_S)


def test_a_second_demo_on_the_same_port_is_told_so_and_changes_nothing(settings, monkeypatch):
    settings.IS_EMBEDDED = True
    monkeypatch.setattr(preparation, "prepare", lambda **_options: pytest.fail("something was changed"))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} cannot be used.*such as {port + 1}"):
            call_command("demo", port=port)


def test_the_demo_refuses_to_fill_a_production_database(tmp_path, settings):
    settings.IS_EMBEDDED = False

    with pytest.raises(CommandError, match="uses its own database"):
        call_command("demo")


def test_preparing_again_costs_nothing_until_something_changes(tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path
    done: list[str] = []
    monkeypatch.setattr(preparation, "call_command", lambda name, **_options: done.append(name))
    monkeypatch.setattr(content, "load", lambda **_options: done.append("load"))

    preparation.prepare(say=lambda _sentence: None)
    assert done == ["migrate", "load", "collectstatic"]

    preparation.prepare(say=lambda _sentence: None)
    assert done == ["migrate", "load", "collectstatic"]

    monkeypatch.setattr(preparation, "fingerprint", lambda _base: "changed")
    preparation.prepare(say=lambda _sentence: None)
    assert done == ["migrate", "load", "collectstatic", "migrate", "collectstatic"]


def test_a_demo_of_another_version_is_told_how_to_start_afresh(tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path

    def migrate(*_arguments: object, **_options: object) -> None:
        raise OperationalError('table "gapgame_gapitem" already exists')

    monkeypatch.setattr(preparation, "call_command", migrate)

    with pytest.raises(CommandError, match=r"made by another version.*already exists.*--data FOLDER"):
        preparation.prepare(say=lambda _sentence: None)


def test_a_demo_made_before_there_was_more_to_load_gets_it(tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path
    done: list[str] = []
    monkeypatch.setattr(preparation, "call_command", lambda name, **_options: done.append(name))
    monkeypatch.setattr(content, "load", lambda **_options: done.append("load"))
    found = preparation.fingerprint(settings.BASE_DIR)
    (tmp_path / "prepared.json").write_text(json.dumps({"fingerprint": found, "is_loaded": True}))

    preparation.prepare(say=lambda _sentence: None)

    assert done == ["migrate", "load", "collectstatic"]


def test_a_load_that_was_broken_off_is_resumed(tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path
    loads: list[bool] = []

    def load(**_options: object) -> None:
        loads.append(True)
        if len(loads) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(preparation, "call_command", lambda name, **_options: None)
    monkeypatch.setattr(content, "load", load)

    with pytest.raises(KeyboardInterrupt):
        preparation.prepare(say=lambda _sentence: None)
    preparation.prepare(say=lambda _sentence: None)

    assert len(loads) == 2


def test_a_free_port_is_let_through():
    launcher.require_free(0)
