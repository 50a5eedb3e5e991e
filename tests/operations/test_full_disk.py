"""A disk that is full: nobody is killed, people are told, and all goes on once there is room."""

from __future__ import annotations

import asyncio
import errno
import http.cookiejar
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.cache.backends.redis import RedisCache
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from core.people.models import Session
from office.operations.rules.disk import is_full
from office.operations.services import metrics, readiness
from office.operations.services.counters import PreallocatedFile
from office.operations.serving import bodies
from office.operations.views import bad_request_show, failure_show
from tests import servers
from tests.browser.real_server import PASSWORD, RealServer
from tests.servers import ROOT

JSON = {"Accept": "application/json"}
UPLOAD = "/projects/lions/import/"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts a small disk, and not everywhere")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room at all on `disk`; returns the file that took it."""
    name = disk / "filler"
    with name.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    assert shutil.disk_usage(disk).free == 0
    return name


COUNTS = """
import sys
sys.path.insert(0, {root!r})
from prometheus_client.mmap_dict import MmapedDict
from office.operations.services.counters import PreallocatedFile
counts = {kind}({folder!r} + "/counter_0.db")
counts.write_value("first", 1.0, 0.0)
open({folder!r} + "/ready", "w").close()
sys.stdin.readline()
for number in range(2000):
    try:
        counts.write_value(f"{{number:0100}}", 1.0, 0.0)
    except OSError as error:
        print(number, error.errno)
        break
"""


def count_on(disk: Path, kind: str) -> tuple[int, str]:
    """How a process ends that counts on while `disk` is full, and what it said."""
    program = COUNTS.format(root=str(ROOT), folder=str(disk), kind=kind)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while not (disk / "ready").exists():
        assert process.poll() is None
    filler = fill(disk)
    said, _none = process.communicate("\n", timeout=30)
    filler.unlink()
    return process.returncode, said


def test_counting_on_a_full_disk_is_an_error_and_ends_nobody(small_disk):
    code, said = count_on(small_disk, "PreallocatedFile")

    # All that fits into the file that is there already is counted.
    assert code == 0
    number, error = map(int, said.split())
    assert (number > 400, error) == (True, errno.ENOSPC)


def test_the_files_of_the_library_would_have_ended_it(small_disk):
    """The reason for ours: once this fails, the library allocates its files by itself."""
    assert count_on(small_disk, "MmapedDict") == (-signal.SIGBUS, "")


def test_counting_needs_nothing_that_macos_lacks(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    counts = PreallocatedFile(str(tmp_path / "counter_0.db"))
    for number in range(2000):
        counts.write_value(f"{number:0100}", number, 0.0)
    counts.close()

    assert (tmp_path / "counter_0.db").stat().st_blocks * 512 >= 2000 * 100
    again = PreallocatedFile(str(tmp_path / "counter_0.db"))
    assert [again.read_value(f"{number:0100}")[0] for number in (0, 1999)] == [0, 1999]
    again.close()


def test_what_cannot_be_counted_goes_on(monkeypatch):
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(metrics.REQUESTS, "labels", full)

    metrics.count_request(view="health-show", method="GET", status=200, duration_s=0.1)


def raised_by(cause: Exception) -> OperationalError:
    error = OperationalError("away or full")
    error.__cause__ = cause
    return error


def sqlite_error() -> sqlite3.Error:
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        database.execute("CREATE TABLE text AS SELECT randomblob(100000)")
    return caught.value


def test_a_full_disk_is_known_whoever_met_it():
    assert is_full(OSError(errno.ENOSPC, "No space left on device"))
    assert is_full(raised_by(sqlite_error()))
    assert is_full(raised_by(psycopg.errors.DiskFull("could not extend file")))
    assert not is_full(raised_by(psycopg.errors.QueryCanceled("too long")))
    assert not is_full(OSError(errno.EACCES, "Permission denied"))
    assert not is_full(None)


def failure(path: str, error: Exception, **headers: str) -> HttpResponse:
    try:
        raise error
    except Exception:
        return failure_show(RequestFactory().post(path, headers=headers))


@pytest.mark.process
def test_redis_on_a_full_disk_is_known_by_what_it_refuses(small_disk):
    executable = servers.find_redis()
    if not executable:
        servers.missing("Redis (redis-server)")
    process, url = servers.start_redis(executable, small_disk, "--appendonly", "yes")
    try:
        cache = RedisCache(url, {})
        cache.set("before", "x")
        fill(small_disk)

        def go_on() -> None:
            for number in range(100):
                cache.set(f"after-{number}", "x" * 10_000)

        with pytest.raises(redis.ResponseError) as refused:
            go_on()
        assert is_full(refused.value)
        assert cache.get("before") == "x"
    finally:
        process.kill()
        process.wait()


def test_people_scripts_and_programs_are_told_each_in_their_way():
    full = raised_by(psycopg.errors.DiskFull("could not extend file"))
    page, script, program = failure("/batches/", full), failure("/batches/", full, **JSON), failure("/api/v1/me/", full)

    assert page.status_code == script.status_code == program.status_code == 507
    assert {page["Retry-After"], script["Retry-After"], program["Retry-After"]} == {"60"}
    assert "no space left" in page.content.decode()
    assert json.loads(script.content)["state"] == "full"
    assert "sent again automatically" in json.loads(script.content)["message"]
    assert program["Content-Type"] == "application/problem+json"
    assert json.loads(program.content)["code"] == "no-room"
    assert failure("/batches/", ValueError("ours")).status_code == 500


@pytest.mark.parametrize(("path", "rest", "status"), [(UPLOAD, 20, 507), ("/", 1, 408), ("/", 2, 413)])
def test_a_body_is_refused_for_its_reason_also_where_the_rest_of_it_finds_no_room(
    small_disk, monkeypatch, path, rest, status
):
    """Small pieces wait in the file's buffer, which is written once more when the file is closed."""
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.5 if status == 408 else 20.0)
    monkeypatch.setattr(bodies, "MIN_BYTES_S", 10**9)
    pieces = [b"x" * 999_000, *[b"x" * 900] * rest]

    async def receive() -> dict[str, Any]:
        if len(pieces) == rest:
            fill(small_disk)
        if not pieces:
            await asyncio.sleep(30)
        return {"type": "http.request", "body": pieces.pop(0), "more_body": True}

    with ThreadPoolExecutor(1) as thread, pytest.raises(bodies.BodyRefusedError) as refused:
        thread.submit(asyncio.run, bodies.read_body(receive, path)).result()
    assert refused.value.status == status


def test_looking_whether_storage_can_be_written_to_leaves_nothing_on_a_full_disk(small_disk, monkeypatch):
    monkeypatch.setattr(readiness, "default_storage", FileSystemStorage(small_disk))
    readiness.check_storage()
    filler = fill(small_disk)
    for _ in range(2):
        with pytest.raises(readiness.ReadinessError, match="cannot be written to"):
            readiness.check_storage()

    assert list((small_disk / "probes").iterdir()) == []
    filler.unlink()
    readiness.check_storage()


@pytest.mark.django_db
def test_a_session_that_finds_no_room_was_not_deleted(client, django_user_model, monkeypatch):
    """Django takes it for one that was, and would answer 400."""

    def change(request: HttpRequest) -> HttpResponse:
        request.session["theme"] = "dark"
        return HttpResponse()

    def save(*_arguments: object, **_named: object) -> None:
        raise raised_by(psycopg.errors.DiskFull("no space left"))

    client.force_login(django_user_model.objects.create_user("ann"))
    request = RequestFactory().post("/batches/")
    request.COOKIES = {name: morsel.value for name, morsel in client.cookies.items()}
    monkeypatch.setattr(Session, "save", save)
    with pytest.raises(SessionInterrupted) as interrupted:
        SessionMiddleware(change)(request)

    assert bad_request_show(request, interrupted.value).status_code == 507
    assert bad_request_show(request, SessionInterrupted("deleted")).status_code == 400


@pytest.mark.django_db(transaction=True)
@pytest.mark.sqlite
def test_a_page_that_finds_no_room_in_the_database_says_so(client, django_user_model):
    django_user_model.objects.create_user("ann", password=PASSWORD)
    client.raise_request_exception = False
    with connection.cursor() as cursor:
        # Rows of tests before this one left pages that are free to be taken.
        cursor.execute("VACUUM")
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        # Each session is a row.
        answers = [sign_in_anew(client) for _ in range(40)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")

    assert answers[-1] == 507
    assert set(answers) <= {302, 507}
    assert sign_in_anew(client) == 302


def sign_in_anew(client: Any) -> int:
    client.cookies.clear()
    return int(client.post("/accounts/login/", {"login": "ann", "password": PASSWORD}).status_code)


class Visitor:
    """Somebody with cookies at a real server."""

    def __init__(self, server: RealServer) -> None:
        self.address = server.address
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def sign_in(self, name: str) -> tuple[int, str]:
        self.ask("/accounts/login/")
        token = next(cookie.value or "" for cookie in self.cookies if cookie.name == "csrftoken")
        return self.ask("/accounts/login/", login=name, password=PASSWORD, csrfmiddlewaretoken=token)

    def ask(self, path: str, **fields: str) -> tuple[int, str]:
        data = urllib.parse.urlencode(fields).encode() if fields else None
        try:
            with self.opener.open(urllib.request.Request(self.address + path, data, JSON), timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()


@pytest.mark.process
@pytest.mark.long(reason="a real server fills its disk; each write that fails there is tested by itself as well")
@pytest.mark.sqlite
def test_a_server_on_a_full_disk_stays_up_says_so_and_goes_on_once_there_is_room(small_disk):
    server = RealServer(small_disk / "var")
    server.fill()
    server.start()
    try:
        for _ in range(10):
            assert Visitor(server).ask("/accounts/login/")[0] == 200
        processes = workers_of(server)
        filler = fill(small_disk)

        # Each address is a new row of the counters; a file of them is full after some hundred.
        for number in range(30):
            assert Visitor(server).ask("/healthz")[0] == 200
            Visitor(server).ask(f"/static/{number}")
        status, said = Visitor(server).sign_in("amal")
        assert (status, json.loads(said)["state"]) == (507, "full")
        assert workers_of(server) == processes

        filler.unlink()
        assert Visitor(server).sign_in("amal")[0] == 200
        assert workers_of(server) == processes
    finally:
        server.kill()


def workers_of(server: RealServer) -> set[str]:
    assert server.process is not None
    return set(Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split())
