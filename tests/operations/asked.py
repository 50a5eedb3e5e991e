"""Requests to the application that the web server serves, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from office.operations.serving import bodies, handler


def echo(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    start("200 OK", [("Content-Type", "application/octet-stream")])
    return [environ["wsgi.input"].read()]


def in_a_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What comes of it, in a thread of its own: tests with a browser leave a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def refuse(_environ: dict[str, Any]) -> None:
    raise bodies.BodyRefusedError(403, "not yours")


def allow(_environ: dict[str, Any]) -> None:
    pass


class Asked:
    """One request, made without a network."""

    def __init__(self, handle: Any, *, check_uploader: Callable[..., None] = refuse) -> None:
        self.application = handler.ServedApplication(handle, check_uploader=check_uploader)
        self.sent: list[dict[str, Any]] = []
        self.received = 0

    def ask(self, path: str, *said: bytes, method: str = "POST", headers: Any = (), then: str = "waits") -> Asked:
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

        in_a_loop(self.application({**scope(path, headers), "method": method}, receive, send))
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def content(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


def scope(path: str, headers: Any = ()) -> dict[str, Any]:
    request = {"type": "http", "method": "POST", "raw_path": path.encode(), "query_string": b"a=%20b"}
    connection = {"scheme": "http", "http_version": "1.1", "client": ("192.0.2.7", 40_000)}
    return {**request, **connection, "server": ("127.0.0.1", 8000), "headers": list(headers)}


def length(number: int) -> tuple[bytes, bytes]:
    return (b"content-length", str(number).encode())
