"""The way of a request from the web server to Django: who is given a thread, how much is taken, what is sent back."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.urls import reverse

from config import asgi
from corpus.rules.limits import MAX_UPLOAD_BYTES
from operations import bodies, serving
from operations.rules.uploads import MAX_BODY_BYTES, UPLOADS, is_upload
from people.models import Membership, Project, Role
from tests.browser.real_server import RealServer
from tests.servers import ROOT

UPLOAD = "/models/captions/add/"
CHUNKED = (b"transfer-encoding", b"chunked")
FORMS_WITH_FILES = {
    "corpus:images-add": ["lions"],
    "gapgame:item-set-create": ["lions"],
    "gapgame:items-import": ["lions", 7],
    "inference:captions-import": [],
    "inference:model-try": [7],
    "scoring:references-import": ["lions"],
    "sxs_eval:gold-list": ["lions", 7],
    "sxs_eval:plan-show": ["lions"],
}


def echo(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    start("200 OK", [("Content-Type", "application/octet-stream")])
    return [environ["wsgi.input"].read()]


def in_a_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What comes of it, in a thread of its own: tests with a browser leave a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def refuse(_environ: dict[str, Any]) -> None:
    raise bodies.RefusedError(403, "not yours")


def allow(_environ: dict[str, Any]) -> None:
    pass


class Asked:
    """One request, made without a network."""

    def __init__(self, handle: Any, *, check_uploader: Callable[..., None] = refuse) -> None:
        self.application = serving.Application(handle, check_uploader=check_uploader)
        self.sent: list[dict[str, Any]] = []
        self.received = 0

    def ask(self, path: str, *said: bytes, headers: Any = (), then: str = "waits") -> Asked:
        """`said` are the pieces of the body; with `then="stalls"` or `"leaves"` there is no end to it."""
        pieces = list(said)

        async def receive() -> dict[str, Any]:
            self.received += 1
            if pieces:
                piece = pieces.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(pieces) or then != "waits"}
            if then != "leaves":
                await asyncio.sleep(30)
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            self.sent.append(message)

        in_a_loop(self.application(scope(path, headers), receive, send))
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def content(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


def scope(path: str, headers: Any = ()) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "raw_path": path.encode(),
        "query_string": b"a=%20b",
        "http_version": "1.1",
        "scheme": "http",
        "headers": list(headers),
        "client": ("192.0.2.7", 40_000),
        "server": ("127.0.0.1", 8000),
    }


def length(number: int) -> tuple[bytes, bytes]:
    return (b"content-length", str(number).encode())


def test_a_body_reaches_django_as_it_was_sent():
    asked = Asked(echo).ask("/", b"one ", b"two", headers=[length(7)])

    assert (asked.status, asked.content) == (200, b"one two")


def test_what_announces_too_much_is_refused_before_anything_is_read():
    asked = Asked(echo).ask("/accounts/login/", b"x", headers=[length(MAX_BODY_BYTES + 1)])

    assert (asked.status, asked.received) == (413, 0)
    assert asked.content == b"The request is larger than 1 MB, and nothing of it was kept.\n"


def test_what_announces_nothing_is_refused_as_soon_as_it_is_too_much():
    pieces = [b"x" * 400_000] * 10
    asked = Asked(echo).ask("/accounts/login/", *pieces, headers=[CHUNKED])

    assert (asked.status, asked.received) == (413, 3)


def test_files_that_are_too_much_are_refused_with_what_to_do():
    asked = Asked(echo, check_uploader=allow).ask(UPLOAD, b"x", headers=[length(MAX_UPLOAD_BYTES + 1)])

    assert (asked.status, asked.received) == (413, 0)
    assert asked.content.startswith(b"Your files are larger than 2000 MB together, and none was kept. Send them in")


@pytest.mark.parametrize("headers", [[length(3 * MAX_BODY_BYTES)], [CHUNKED]])
def test_files_are_taken_of_who_may_send_them_alone(headers):
    pieces = [bytes([number]) * MAX_BODY_BYTES for number in range(3)]
    refused = Asked(echo).ask(UPLOAD, *pieces, headers=headers)
    taken = Asked(echo, check_uploader=allow).ask(UPLOAD, *pieces, headers=headers)

    assert (refused.status, refused.received) == (403, 0)
    assert (taken.status, taken.content) == (200, b"".join(pieces))


def by_django(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    request = WSGIRequest(environ)
    start("200 OK", [])
    return [f"{request.path} {request.read().decode()}".encode()]


def test_a_body_in_chunks_is_read_by_django():
    assert Asked(by_django).ask("/", b"one ", b"two", headers=[CHUNKED]).content == b"/ one two"


@pytest.mark.django_db
def test_the_platform_knows_who_may_send_files_before_it_reads_them(client, django_user_model, monkeypatch):
    # The connection is that of the test's transaction.
    monkeypatch.setattr(asgi, "close_old_connections", lambda: None)

    def refused(**more: str) -> str:
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": UPLOAD, "wsgi.input": BytesIO()}
        try:
            asgi.check_uploader(environ | more)
        except bodies.RefusedError as error:
            return f"{error.status} {error.sentence}"
        return ""

    def as_(role: Role | None, **more: bool) -> str:
        user = django_user_model.objects.create_user(f"{role}-{len(more)}", **more)
        if role:
            Membership.objects.create(project=lions, user=user, role=role)
        client.force_login(user)
        return refused(HTTP_COOKIE=f"sessionid={client.cookies['sessionid'].value}")

    owner = django_user_model.objects.create_user("owner")
    lions = Project.objects.create(name="Lions", slug="lions", created_by=owner)

    assert refused() == refused(HTTP_COOKIE="sessionid=guessed") == f"403 {asgi.SIGNED_OUT}"
    assert {as_(role) for role in (Role.PLAYER, Role.ANNOTATOR, Role.RATER, None)} == {f"403 {asgi.NOT_YOURS}"}
    assert {as_(Role.MANAGER), as_(Role.RESEARCHER), as_(None, is_staff=True, is_superuser=True)} == {""}


@pytest.mark.django_db
def test_looking_who_sends_files_changes_nothing_of_the_request(monkeypatch):
    monkeypatch.setattr(asgi, "close_old_connections", lambda: None)
    environ = serving.environ_of(scope("/projects/%E7%8C%AB/plan/"))
    with pytest.raises(bodies.RefusedError):
        asgi.check_uploader(environ)

    assert WSGIRequest(environ).path == "/projects/猫/plan/"


def test_a_body_that_comes_too_slowly_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.05)

    asked = Asked(echo).ask("/accounts/login/", b"x", headers=[length(1000)], then="stalls")

    assert asked.status == 408
    assert b"too slow, so nothing was saved" in asked.content


def test_who_sent_much_and_fast_may_not_stall_for_long_after_it(monkeypatch):
    monkeypatch.setattr(bodies, "IDLE_S", 0.05)

    asked = Asked(echo, check_uploader=allow).ask(UPLOAD, *[b"x" * 10**6] * 3, headers=[CHUNKED], then="stalls")

    assert asked.status == 408


def test_who_leaves_before_the_end_is_answered_nothing():
    assert Asked(echo).ask("/", b"half of", headers=[length(100)], then="leaves").sent == []


def test_a_body_that_finds_no_room_is_answered_so(monkeypatch):
    def full(*_arguments: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SpooledTemporaryFile, "write", full)
    asked = Asked(echo).ask("/", b"x", headers=[length(1)])

    assert asked.status == 507
    assert b"no room left" in asked.content


def test_the_request_is_what_wsgi_has_it_be_and_no_header_passes_for_another():
    headers = [
        *((b"x-forwarded-for", b"192.0.2.1"), (b"x_forwarded_for", b"10.0.0.1"), (b"accept", b"text/html")),
        *((b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"accept", b"*/*"), (b"content-type", b"text/plain")),
    ]
    environ = serving.environ_of(scope("/caf%C3%A9%2F/", headers))

    assert environ["PATH_INFO"].encode("latin-1").decode() == "/café//"
    assert environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"
    assert (environ["HTTP_COOKIE"], environ["HTTP_ACCEPT"]) == ("a=1; b=2", "text/html,*/*")
    assert (environ["CONTENT_TYPE"], environ["QUERY_STRING"]) == ("text/plain", "a=%20b")
    assert (environ["REMOTE_ADDR"], environ["SERVER_PORT"]) == ("192.0.2.7", "8000")


def streaming(pieces: Iterator[bytes]) -> Any:
    def handle(_environ: Any, start: Callable[..., Any]) -> Iterator[bytes]:
        start("200 OK", [])
        return pieces

    return handle


def test_a_stream_is_sent_piece_by_piece_and_ends():
    asked = Asked(streaming(f"line {number}\n".encode() for number in range(3000))).ask("/", headers=[length(0)])

    assert asked.content.splitlines() == [f"line {number}".encode() for number in range(3000)]
    assert [message["more_body"] for message in asked.sent[1:]] == [True] * (len(asked.sent) - 2) + [False]


def test_a_stream_that_breaks_is_not_taken_for_a_whole_one():
    def breaking() -> Iterator[bytes]:
        yield b"half of it"
        raise ValueError("gone")

    asked = Asked(streaming(breaking()))

    with pytest.raises(ValueError, match="gone"):
        asked.ask("/", headers=[length(0)])
    assert all(message.get("more_body", True) for message in asked.sent)


def test_a_stream_that_nobody_takes_any_more_is_closed():
    closed = threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 4096
        finally:
            closed.set()

    Asked(streaming(endless())).ask("/", headers=[length(0)], then="leaves")

    assert closed.is_set()


class Download:
    """A stream without an end that tells in which thread what was done."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.threads.append(threading.get_ident())
            yield b"x" * serving.BLOCK_BYTES

    def close(self) -> None:
        self.threads.append(threading.get_ident())


def test_downloads_that_nobody_takes_hold_up_no_page_and_are_limited():
    made: list[Download] = []

    def handle(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        start("200 OK", [])
        if environ["PATH_INFO"] == "/":
            return [b"page"]
        made.append(Download())
        made[-1].threads.append(threading.get_ident())
        return made[-1]

    application = serving.Application(handle, check_uploader=refuse)

    async def all_at_once() -> list[list[dict[str, Any]]]:
        leave, waiting = asyncio.Event(), []

        async def ask(path: str, *, takes: bool) -> list[dict[str, Any]]:
            messages: list[dict[str, Any]] = []

            async def send(message: dict[str, Any]) -> None:
                messages.append(message)
                if not takes:
                    waiting.append(path)
                    await leave.wait()

            async def receive() -> dict[str, Any]:
                await leave.wait()
                return {"type": "http.disconnect"}

            await application(scope(path, [length(0)]), receive, send)
            return messages

        slow = [asyncio.create_task(ask("/archive", takes=False)) for _ in range(serving.MOST_STREAMS)]
        async with asyncio.timeout(10):
            while len(waiting) < serving.MOST_STREAMS:
                await asyncio.sleep(0.01)
        sent = [await asyncio.wait_for(ask(path, takes=True), 5) for path in ("/", "/archive", "/")]
        leave.set()
        await asyncio.gather(*slow)
        return [*sent, await ask("/", takes=True)]

    page, refused, *pages = in_a_loop(all_at_once())
    assert [page, *pages] == [page] * 3
    assert page[1]["body"] == b"page"
    assert refused[0]["status"] == 503
    assert (b"retry-after", b"60") in refused[0]["headers"]
    # Made, read and closed by a thread each; the one that is refused is not read.
    assert [len(set(download.threads)) for download in made] == [1] * (serving.MOST_STREAMS + 1)
    assert len({download.threads[0] for download in made[:-1]}) == serving.MOST_STREAMS
    assert [len(download.threads) > 2 for download in made] == [True] * serving.MOST_STREAMS + [False]


def test_small_files_are_sent_whole_and_large_ones_are_streams():
    closed = []

    class File(BytesIO):
        def close(self) -> None:
            closed.append(len(self.getvalue()))
            super().close()

    def handle(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        start("200 OK", [])
        return environ["wsgi.file_wrapper"](File(b"x" * int(environ["PATH_INFO"][1:])))

    sizes = [0, 10, serving.BLOCK_BYTES, serving.BLOCK_BYTES + 1, 5 * serving.BLOCK_BYTES]
    asked = [Asked(handle).ask(f"/{size}", headers=[length(0)]) for size in sizes]

    assert [len(each.content) for each in asked] == closed == sizes
    assert [len(each.sent) == 2 for each in asked] == [True, True, True, False, False]


def test_files_are_sent_in_large_blocks_and_closed():
    file = BytesIO(b"x" * 600_000)
    blocks = serving.FileBlocks(file, 4096)

    assert [len(block) for block in blocks] == [262_144, 262_144, 75_712]
    blocks.close()
    assert file.closed


def test_readiness_is_asked_while_every_thread_for_pages_is_busy():
    go_on = threading.Event()

    def handle(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [])
        if environ["PATH_INFO"] == "/":
            go_on.wait(20)
        return [b"ok"]

    application = serving.Application(handle, check_uploader=refuse)

    async def all_at_once() -> list[str]:
        order: list[str] = []

        async def ask(path: str) -> None:
            async def send(_message: dict[str, Any]) -> None:
                pass

            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b"", "more_body": False}

            await application(scope(path, [length(0)]), receive, send)
            order.append(path)
            go_on.set()

        await asyncio.gather(*(ask("/") for _ in range(serving.THREADS)), ask("/readyz"))
        return order

    assert in_a_loop(all_at_once())[0] == "/readyz"


@pytest.mark.parametrize(("name", "arguments"), FORMS_WITH_FILES.items())
def test_every_form_with_files_may_be_large(name, arguments):
    assert is_upload(reverse(name, args=arguments))


def test_these_are_all_forms_with_files_and_the_proxy_knows_them():
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    forms = sum("multipart/form-data" in text for text in templates)
    shared = sum("corpus/_upload_form.html" in text for text in templates)

    # The shared form is one of them.
    assert forms - 1 + shared == len(FORMS_WITH_FILES)
    assert f"path_regexp {UPLOADS}" in (ROOT / "deploy" / "Caddyfile").read_text()
    assert not is_upload("/accounts/login/")


SLOW = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    # Without the cookie it is refused at once; anybody can make one up.
    b"Cookie: csrftoken=" + b"a" * 32 + b"\r\nContent-Length: 1000000\r\n\r\nx"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path / "var")
    (tmp_path / "var").mkdir()
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.mark.slow(reason="a real server is started")
@pytest.mark.sqlite_only
def test_connections_that_send_slowly_hold_nobody_up(server):
    def answered_after_s() -> float:
        began = time.monotonic()
        urllib.request.urlopen(f"{server.address}/healthz", timeout=10).close()
        return time.monotonic() - began

    # The first request of a process loads all addresses.
    for _ in range(10):
        answered_after_s()
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(40)]
    try:
        for connection in slow:
            connection.sendall(SLOW)
        time.sleep(0.5)
        for connection in slow:
            connection.sendall(b"x")

        assert max(answered_after_s() for _ in range(5)) < 1
    finally:
        for connection in slow:
            connection.close()
