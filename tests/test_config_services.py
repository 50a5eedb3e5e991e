"""Celery over both transports: whole messages from the embedded queue, and processes on real PostgreSQL and Redis."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from kombu import Connection

from config.celery import app
from tests.servers import ROOT, embedded_environment, free_port
from tests.test_config_environment import PRODUCTION

# Only a failure waits so long: five processes start at once, on a machine that may have other work.
WAIT_S = 180
WEB = ("config.serve", "--interface", "asginl", "--workers", "1", "config.asgi:application")
WORKER = ("celery", "--app", "config", "worker", "--pool", "solo", "--loglevel", "INFO")
BEAT = ("celery", "--app", "config", "beat", "--loglevel", "DEBUG")


@contextmanager
def running(folder: Path, environment: Mapping[str, str], *command: str) -> Iterator[Path]:
    """A process of the platform and, when the block ends, nothing of it; yields the file it writes to."""
    log = folder / f"{command[0]}-{time.monotonic_ns()}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(condition: Callable[[], object], log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"Nothing after {WAIT_S} s:\n{log.read_text()}"
        time.sleep(0.1)


PREPARE = """
import config, django
django.setup()
from django.core.management import call_command
from django.db import connection
from core.allocation.tasks import sweep_leases
from tests.database import create_tables

# tests/operations/test_schema.py applies each migration to PostgreSQL.
create_tables(connection)
call_command("collectstatic", interactive=False, verbosity=0)
sweep_leases.delay()
"""


@pytest.fixture
def production_environment(tmp_path: Path, postgres_url: str, redis_url: str) -> Mapping[str, str]:
    media = tmp_path / "media"
    services = {
        "DATABASE_URL": postgres_url,
        "CELERY_BROKER_URL": redis_url,
        "STORAGE_URL": f"file://{media}",
        "EMAIL_URL": "consolemail://",
    }
    return embedded_environment(tmp_path / "var", **(PRODUCTION | services))


@pytest.mark.process
@pytest.mark.long(reason="crashes of runs take workers over files through worse in every run")
def test_a_task_goes_through_a_worker_over_files(tmp_path):
    environment = embedded_environment(tmp_path / "var")
    (tmp_path / "var").mkdir()
    subprocess.run([sys.executable, "-c", PREPARE], cwd=ROOT, env=environment, check=True, timeout=WAIT_S)

    with running(tmp_path, environment, *WORKER) as log:
        wait_until(lambda: re.search(r"sweep_leases\[.*succeeded", log.read_text()), log)


@pytest.mark.postgres
@pytest.mark.process
def test_the_processes_of_a_production_installation_work_together(tmp_path, production_environment):
    (tmp_path / "var").mkdir()
    subprocess.run([sys.executable, "-c", PREPARE], cwd=ROOT, env=production_environment, check=True, timeout=WAIT_S)
    port = free_port()

    with ExitStack() as processes:
        web = processes.enter_context(running(tmp_path, production_environment, *WEB, "--port", str(port)))
        worker = processes.enter_context(running(tmp_path, production_environment, *WORKER))
        beat = processes.enter_context(running(tmp_path, production_environment, *BEAT))
        wait_until(lambda: status_of(port, "/healthz") == 200, web)
        assert status_of(port, "/accounts/login/", {"X-Forwarded-Proto": "https"}) == 200
        assert status_of(port, "/accounts/login/") == 301  # to https
        assert status_of(port, "/healthz", {"Host": "evil.example.net"}) == 400
        # Asked from inside, without TLS.
        assert status_of(port, "/readyz") == status_of(port, "/metrics") == 200
        wait_until(lambda: re.search(r"sweep_leases\[.*succeeded", worker.read_text()), worker)
        wait_until(lambda: "Sending due task" in beat.read_text(), beat)
        lines = [line for log in (web, worker) for line in log.read_text().splitlines() if line.startswith("{")]
        told = [json.loads(line) for line in lines]
        assert {"operations.access", "celery.app.trace"} <= {line["logger"] for line in told}
        assert all(line["request_id"] for line in told if line["logger"] == "operations.access")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object) -> None:
        return None


def status_of(port: int, path: str, headers: Mapping[str, str] | None = None) -> int | None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Host": "crosslens.example.org", **(headers or {})}
    )
    try:
        return urllib.request.build_opener(NoRedirect).open(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


@pytest.fixture
def connection(tmp_path):
    for name in ("messages", "processed", "control"):
        (tmp_path / name).mkdir()
    messages = str(tmp_path / "messages")
    options = {
        "data_folder_in": messages,
        "data_folder_out": messages,
        "processed_folder": str(tmp_path / "processed"),
        "control_folder": str(tmp_path / "control"),
    }
    with Connection("filesystem://localhost", transport_options=options) as connection:
        yield connection


def test_a_message_has_its_name_only_when_it_is_written(connection, tmp_path, monkeypatch):
    seen: list[tuple[int, bool]] = []
    named = Path.replace

    def look_first(unfinished: Path, target: Path) -> Path:
        seen.append((unfinished.stat().st_size, any((tmp_path / "messages").glob("*.msg"))))
        return named(unfinished, target)

    monkeypatch.setattr(Path, "replace", look_first)
    queue = connection.SimpleQueue("work")
    queue.put({"image": "a" * 1000})

    ((size, is_named),) = seen
    assert size > 1000
    assert not is_named
    assert queue.get(timeout=5).payload == {"image": "a" * 1000}


def test_a_task_is_named_after_the_label_of_its_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps.get_app_config("images"), "name", "wing.pictures")

    assert app.gen_task_name("sweep", "wing.pictures.tasks").split(".") == ["images", "tasks", "sweep"]
    assert app.gen_task_name("sweep", "elsewhere.tasks") == "elsewhere.tasks.sweep"


def test_beat_sends_only_tasks_that_there_are() -> None:
    app.loader.import_default_modules()

    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= app.tasks.keys()
