"""A worker, the broker and the disk fail in the middle of a run: in the end every image is captioned exactly once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from kombu import Connection

from core.jobs.services.leases import LEASE
from research.inference import tasks
from research.inference.models import ModelCaption, Run, Worker
from research.inference.services import chunks, runs
from tests import servers
from tests.inference.fake_runs import (
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    make_model,
    make_run,
)
from tests.tiers import some

WAIT_S = 60.0
pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.django_db(transaction=True)]


@dataclass
class Process:
    """A worker of Celery with one process, so that its number is that of who holds the chunks."""

    popen: subprocess.Popen[bytes]
    log: Path
    start: Callable[[], subprocess.Popen[bytes]]
    is_restarted: bool

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()


@dataclass
class Place:
    """The database of the test, and a broker."""

    folder: Path
    broker: str = ""

    @contextmanager
    def worker(self, *, init: str = "", is_restarted: bool = False) -> Iterator[Process]:
        """A real worker; `init` is what its connections to SQLite begin with. `is_restarted`: as Docker does it."""
        log = self.folder / f"worker-{time.monotonic_ns()}.log"
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.inference.worker_settings",
            "TEST_WORKER_DATABASE": json.dumps(self._database(init)),
            "TEST_WORKER_BROKER": self.broker,
        }
        command = [sys.executable, "-m", "celery", "--app", "tests.inference.fake_worker", "worker", "--pool", "solo"]
        command += ["--queues", "default,gpu", "--loglevel", "INFO", "--without-mingle", "--without-gossip"]

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as file:
                return subprocess.Popen(
                    command, cwd=servers.ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
                )

        process = Process(start(), log, start, is_restarted)
        try:
            yield process
        finally:
            process.popen.terminate()
            try:
                process.popen.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.popen.pid, signal.SIGKILL)
                process.popen.wait()

    def _database(self, init: str) -> dict[str, object]:
        database = connection.settings_dict
        kept = {name: str(database[name]) for name in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")}
        options = dict(database["OPTIONS"])
        if connection.vendor == "sqlite":
            options["init_command"] += init
        return {**kept, "OPTIONS": options}

    def nudge(self) -> None:
        """What the sweep does: tell workers of runs that wait."""
        for run_id, queue, wanted in runs.runs_waiting(now=timezone.now()):
            for _ in range(wanted):
                with suppress(OSError):
                    self.send(run_id, queue)

    def send(self, run_id: int, queue: str) -> None:
        if not self.broker:
            tasks.work_on.apply_async((run_id,), queue=queue)
            return
        with Connection(self.broker) as to:
            asked: dict[str, Any] = {"connection": to, "retry": False}
            tasks.work_on.apply_async((run_id,), queue=queue, **asked)

    def wait_for(self, condition: Callable[[], object], process: Process) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            self.nudge()
            assert time.monotonic() < deadline, f"nothing after {WAIT_S} s:\n{process.log.read_text()[-5000:]}"
            if process.is_restarted and process.popen.poll() is not None:
                process.popen = process.start()
            assert process.popen.poll() is None, f"the worker ended by itself:\n{process.log.read_text()[-5000:]}"
            time.sleep(0.05)


USUAL, OTHER = ("redis", "files") if connection.vendor == "postgresql" else ("files", "redis")
"""Brokers: the demo keeps SQLite and messages in files, an installation PostgreSQL and Redis."""


@pytest.fixture(params=some([USUAL, OTHER], short=1, reason="the database comes with this broker nowhere"))
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(chunks, "NUDGE_AFTER", timedelta(seconds=0.3))
    drop_messages()
    return Place(tmp_path, request.getfixturevalue("redis_url") if request.param == "redis" else "")


def drop_messages() -> int:
    """Whatever is on its way over files is lost; returns how many messages that were."""
    messages = list((Path(settings.VAR) / "queue" / "messages").glob("*.msg"))
    for message in messages:
        message.unlink(missing_ok=True)
    return len(messages)


def stored() -> int:
    return ModelCaption.objects.count()


def is_done(run: Run) -> bool:
    run.refresh_from_db()
    return str(run.state) == "done"


def slow_run(images: int = 40, **options: object) -> Run:
    about: dict[str, Any] = {"sleep_s": 0.03, "batch_size": 4, **options}
    return make_run(images, model=make_model(**about))


def test_a_worker_killed_in_the_middle_leaves_the_rest_to_another_and_nothing_is_made_twice(place):
    run = slow_run()
    with place.worker() as first:
        place.wait_for(lambda: stored() >= 12, first)
        first.kill()
    before = list(ModelCaption.objects.order_by("pk").values_list("pk", "text", "created_at"))
    held = run.chunks.get(state="running", lease_until__isnull=False, position=_first_open(run))
    assert held.holder.endswith(f":{first.popen.pid}"), "it was killed with a chunk in its hands"
    with pytest.raises(AssertionError):
        check_complete(run)  # the control: what the test is about has not come about by itself
    assert len(before) == counts(run)[2] < 80

    go(run, at=timezone.now() + 2 * LEASE)

    check_complete(run)
    assert counts(run) == (80, 0, 80, 0)
    assert list(ModelCaption.objects.order_by("pk").values_list("pk", "text", "created_at"))[: len(before)] == before
    assert run.events.filter(message__contains=f"{held.holder}, which stopped responding").exists()


def _first_open(run: Run) -> int:
    return run.chunks.exclude(state="done").order_by("position").values_list("position", flat=True)[0]


@pytest.mark.long(reason="the other faults of the same machinery; a kill in the middle is always tried")
def test_a_kill_costs_the_batches_at_hand_and_no_more(place):
    run = slow_run(sleep_s=0.1)
    with place.worker() as first:
        place.wait_for(lambda: stored() >= 8, first)
        first.kill()
        log = first.log.read_text()
    assert "Traceback" not in log
    # A batch of 4 takes 0.4 s: whatever took longer to come to an end than one batch was stored.
    began = run.events.get(message__startswith="Model ready").at
    last = ModelCaption.objects.order_by("created_at").last().created_at
    assert (last - began).total_seconds() / 0.4 >= stored() / 4 - 1


@pytest.mark.long(reason="the other faults of the same machinery; a kill in the middle is always tried")
def test_a_worker_says_that_it_is_there_and_takes_its_leave(place):
    with place.worker() as process:
        place.wait_for(lambda: Worker.objects.filter(name__endswith=f":{process.popen.pid}").exists(), process)
        row = Worker.objects.get()
        assert (row.queues, row.run, row.device[:3]) == ("default,gpu", None, "CPU")
        assert "PyTorch" in row.software
        assert 2**20 < row.memory < 2**40
        place.wait_for(lambda: " ready." in process.log.read_text(), process)
    assert not Worker.objects.exists()


@pytest.mark.long(reason="the other faults of the same machinery; a kill in the middle is always tried")
@pytest.mark.sqlite
@pytest.mark.parametrize("place", ["files"], indirect=True)
def test_messages_that_are_lost_cost_time_and_nothing_else(place):
    run = slow_run()
    lost = 0
    with place.worker() as process:
        place.wait_for(lambda: stored() >= 8, process)
        until = time.monotonic() + 2
        while not is_done(run) and time.monotonic() < until:
            lost += drop_messages()
        place.wait_for(lambda: is_done(run), process)

    assert lost > 0
    check_complete(run)


@pytest.mark.long(reason="the other faults of the same machinery; a kill in the middle is always tried")
def test_a_broker_killed_in_the_middle_costs_time_and_nothing_else(tmp_path, monkeypatch):
    executable = servers.find_redis()
    if not executable:
        servers.missing("Redis (redis-server)")
    monkeypatch.setattr(chunks, "NUDGE_AFTER", timedelta(seconds=0.3))
    port = servers.free_port()
    place = Place(tmp_path, f"redis://127.0.0.1:{port}/0")
    run = slow_run(sleep_s=0.06)

    # With a message in hand that it cannot give back, Celery's worker may end where the broker does.
    with redis_on(port, executable, tmp_path) as redis, place.worker(is_restarted=True) as process:
        place.wait_for(lambda: stored() >= 8, process)
        redis.kill()
        redis.wait()
        time.sleep(1.5)  # longer than a slice: the worker has nobody to tell that there is more
        made = stored()
        assert not is_done(run)
        with redis_on(port, executable, tmp_path):
            place.wait_for(lambda: is_done(run), process)
            assert made < stored() == 80
            check_complete(run)
            process.popen.terminate()
            process.popen.wait(10)


@contextmanager
def redis_on(port: int, executable: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process, _url = servers.start_redis(executable, folder, port=port)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.long(reason="the other faults of the same machinery; a kill in the middle is always tried")
@pytest.mark.sqlite
def test_a_full_disk_stops_a_run_which_goes_on_when_there_is_room_again(place):
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    run = slow_run(sleep_s=0.005, characters=900)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # no room is left in the file itself
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
    with place.worker(init=f" PRAGMA max_page_count={pages + 12};") as first:
        place.wait_for(lambda: "disk is full" in first.log.read_text(), first)
        place.wait_for(lambda: run.chunks.filter(state="queued").exists(), first)
    assert not is_done(run)
    assert 0 < stored() == counts(run)[2] < 80
    assert counts(run)[3] == 0, "no image is to blame"

    with place.worker() as second:
        place.wait_for(lambda: is_done(run), second)

    check_complete(run)
    assert counts(run) == (80, 0, 80, 0)
