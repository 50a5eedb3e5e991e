"""The way of a request from the web server to Django: what it becomes, and who is given a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
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
