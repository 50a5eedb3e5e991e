"""The way of a request from the web server to Django and back: who is given a thread, and what is sent in pieces."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from office.operations.rules.uploads import MAX_BODY_BYTES
from office.operations.serving import handler
from tests.browser.real_server import RealServer
from tests.operations.asked import Asked, echo, in_a_loop, length, refuse, scope


def test_the_request_is_what_wsgi_has_it_be_and_no_header_passes_for_another():
    headers = [
        *((b"x-forwarded-for", b"192.0.2.1"), (b"x_forwarded_for", b"10.0.0.1"), (b"accept", b"text/html")),
        *((b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"accept", b"*/*"), (b"content-type", b"text/plain")),
    ]
    environ = handler.environ_of(scope("/caf%C3%A9%2F/", headers))

    assert environ["PATH_INFO"].encode("latin-1").decode() == "/café//"
    assert environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"
    assert (environ["HTTP_COOKIE"], environ["HTTP_ACCEPT"]) == ("a=1; b=2", "text/html,*/*")
    assert (environ["CONTENT_TYPE"], environ["QUERY_STRING"]) == ("text/plain", "a=%20b")
    assert (environ["REMOTE_ADDR"], environ["SERVER_PORT"]) == ("192.0.2.7", "8000")


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND"])
def test_a_method_that_nothing_here_has_is_refused_before_django_is_asked(method: str):
    asked = Asked(echo).ask("/", method=method)

    assert (asked.status, asked.received) == (501, 0)


def test_what_is_refused_before_django_is_asked_is_no_page_either():
    asked = Asked(echo).ask("/", headers=[length(MAX_BODY_BYTES + 1)])

    assert asked.status == 413
    assert asked.headers["x-content-type-options"] == "nosniff"
    assert asked.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_readiness_is_asked_while_every_thread_for_pages_is_busy():
    go_on = threading.Event()

    def handle(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [])
        if environ["PATH_INFO"] == "/":
            go_on.wait(20)
        return [b"ok"]

    application = handler.ServedApplication(handle, check_uploader=refuse)

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

        await asyncio.gather(*(ask("/") for _ in range(handler.THREADS)), ask("/readyz"))
        return order

    assert in_a_loop(all_at_once())[0] == "/readyz"


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


@pytest.mark.sqlite
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
            yield b"x" * handler.BLOCK_BYTES

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

    application = handler.ServedApplication(handle, check_uploader=refuse)

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

        slow = [asyncio.create_task(ask("/archive", takes=False)) for _ in range(handler.MAX_STREAMS)]
        async with asyncio.timeout(10):
            while len(waiting) < handler.MAX_STREAMS:
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
    assert [len(set(download.threads)) for download in made] == [1] * (handler.MAX_STREAMS + 1)
    assert len({download.threads[0] for download in made[:-1]}) == handler.MAX_STREAMS
    assert [len(download.threads) > 2 for download in made] == [True] * handler.MAX_STREAMS + [False]


def test_small_files_are_sent_whole_and_large_ones_are_streams():
    closed = []

    class File(BytesIO):
        def close(self) -> None:
            closed.append(len(self.getvalue()))
            super().close()

    def handle(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        start("200 OK", [])
        return environ["wsgi.file_wrapper"](File(b"x" * int(environ["PATH_INFO"][1:])))

    sizes = [0, 10, handler.BLOCK_BYTES, handler.BLOCK_BYTES + 1, 5 * handler.BLOCK_BYTES]
    asked = [Asked(handle).ask(f"/{size}", headers=[length(0)]) for size in sizes]

    assert [len(each.content) for each in asked] == closed == sizes
    assert [len(each.sent) == 2 for each in asked] == [True, True, True, False, False]


def test_files_are_sent_in_large_blocks_and_closed():
    file = BytesIO(b"x" * 600_000)
    blocks = handler.FileBlocks(file, 4096)

    assert [len(block) for block in blocks] == [262_144, 262_144, 75_712]
    blocks.close()
    assert file.closed
