"""Django's WSGI handler behind an ASGI server: a thread handles a request once all of it has arrived.

Threads are kept, with their database connections. A slow sender occupies only a socket. A thread that sends a stream
hands its place to a new one and ends after it: a slow receiver blocks no page.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from io import SEEK_END, BytesIO
from itertools import chain, islice
from typing import IO, Any, TypeVar
from urllib.parse import unquote_to_bytes

from django.db import connections

from core.people.api.answers import is_api, problem_outside
from office.operations.rules.uploads import MAX_BODY_BYTES, is_upload
from office.operations.serving.bodies import (
    Body,
    BodyRefusedError,
    ClientDisconnectedError,
    Receive,
    check_length,
    read_body,
)

THREADS = 4
"""Threads per process for Django."""

MAX_STREAMS = 16
"""Streams per process; one that reads rows meanwhile keeps its database connection."""

BUSY = "Many downloads are under way just now. Try again in a minute."
RETRY_AFTER_S = 60

APART = frozenset({"/readyz"})
"""Requests that may wait for others have a thread of their own, so that pages never wait for them."""

BLOCK_BYTES = 256 * 1024
SEND_S = 60.0
"""How long a client may take for the next piece of a download."""

BODILESS = frozenset({"GET", "HEAD"})
METHODS = BODILESS | {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
"""A view without a list of methods would accept any, even TRACE."""
WITHOUT_PREFIX = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})

T = TypeVar("T")
Environ = dict[str, Any]
Message = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Handle = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Send = Callable[[Message], Awaitable[None]]

_TEXT = b"text/plain; charset=utf-8"
_PLAIN: Headers = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
UNKNOWN_METHOD = "There is no such method here."


class ServedApplication:
    """An ASGI application. `check_uploader` raises BodyRefusedError if only a page's own form is accepted."""

    def __init__(self, handle: Handle, *, check_uploader: Callable[[Environ], None]) -> None:
        self._handle, self._check_uploader = handle, check_uploader
        self._free, self._apart = _threads(THREADS, "web"), _threads(1, "probe")
        self._streams = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        environ = environ_of(scope)
        with suppress(ClientDisconnectedError):
            try:
                body = await self._body(environ, receive)
            except BodyRefusedError as refused:
                await _send_all(send, _refusal(environ["PATH_INFO"], refused.status, refused.sentence))
                return
            with body:
                environ["wsgi.input"] = body
                await self._respond(environ, receive, send)

    async def _body(self, environ: Environ, receive: Receive) -> Body:
        if environ["REQUEST_METHOD"] not in METHODS:
            raise BodyRefusedError(501, UNKNOWN_METHOD)
        path, length = environ["PATH_INFO"], int(environ["CONTENT_LENGTH"]) if "CONTENT_LENGTH" in environ else None
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ
        if length == 0 or (length is None and not is_chunked and environ["REQUEST_METHOD"] in BODILESS):
            return Body()
        check_length(path, length)
        # Files from people who may not send any would fill the disk, only to be thrown away.
        if is_upload(path) and (length is None or length > MAX_BODY_BYTES):
            async with _one_of(self._free) as thread:
                await thread.run(self._check_uploader, environ)
        body = await read_body(receive, path)
        # Django reads as much as is announced; a chunked body announces nothing.
        environ["CONTENT_LENGTH"] = str(body.seek(0, SEEK_END))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        body.seek(0)
        return body

    async def _respond(self, environ: Environ, receive: Receive, send: Send) -> None:
        async with _one_of(self._apart if environ["PATH_INFO"] in APART else self._free) as thread:
            answer = await thread.run(self._answer, environ)
            if isinstance(answer, _ResponseStream) and self._streams >= MAX_STREAMS:
                await thread.run(answer.close)
                retry_after = (b"retry-after", str(RETRY_AFTER_S).encode())
                answer = _refusal(environ["PATH_INFO"], 503, BUSY, retry_after)
            elif isinstance(answer, _ResponseStream):
                thread.leave()
                self._streams += 1
                try:
                    await thread.run(answer.send, _StreamSender(receive, send, asyncio.get_running_loop()))
                finally:
                    self._streams -= 1
                return
        await _send_all(send, answer)

    def _answer(self, environ: Environ) -> list[Message] | _ResponseStream:
        """Return the content to send; anything but a stream is closed already."""
        started: list[tuple[int, Headers]] = []

        def start(status: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
            sent = [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]
            started[:] = [(int(status[:3]), sent)]

        with ExitStack() as closing:
            response = self._handle(environ, start)
            if close := getattr(response, "close", None):
                closing.callback(close)
            is_file = isinstance(response, FileBlocks)
            is_whole = isinstance(response, list) or not getattr(response, "streaming", True)
            pieces = iter(response)
            if is_file:
                # Style sheets and the like are no stream.
                first = list(islice(pieces, 2))
                pieces, is_whole = chain(first, pieces), len(first) < 2
            if is_whole:
                return _whole(*started[0], b"".join(pieces))
            return _ResponseStream(*started[0], pieces, is_file, closing.pop_all().close)


@dataclass(frozen=True)
class _ResponseStream:
    """A response that the thread that made it still has to send and close."""

    status: int
    headers: Headers
    pieces: Iterator[bytes]
    is_file: bool
    close: Callable[[], None]

    def send(self, streamer: _StreamSender) -> None:
        """Send the response; a file needs no database, so its connection is closed first."""
        try:
            if self.is_file:
                connections.close_all()
            streamer.send_all(self.status, self.headers, self.pieces)
        finally:
            self.close()
            connections.close_all()


Threads = asyncio.LifoQueue["_WorkerThread"]


class _WorkerThread:
    def __init__(self, threads: Threads, name: str) -> None:
        self._threads, self._name, self._has_left = threads, name, False
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

    def leave(self) -> None:
        """Hand the place to a new thread; this one ends with its next request."""
        self._has_left = True
        self._threads.put_nowait(_WorkerThread(self._threads, self._name))

    def put_back(self) -> None:
        if self._has_left:
            self._executor.shutdown(wait=False)
        else:
            self._threads.put_nowait(self)


def _threads(number: int, name: str) -> Threads:
    threads: Threads = asyncio.LifoQueue()
    for _ in range(number):
        threads.put_nowait(_WorkerThread(threads, name))
    return threads


@asynccontextmanager
async def _one_of(threads: Threads) -> AsyncIterator[_WorkerThread]:
    thread = await threads.get()
    try:
        yield thread
    finally:
        thread.put_back()


class _StreamSender:
    """Sends from a thread, at the client's speed; the next piece is produced while one is sent."""

    def __init__(self, receive: Receive, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self._receive, self._send, self._loop = receive, send, loop

    def send_all(self, status: int, headers: Headers, pieces: Iterable[bytes]) -> None:
        """Raise ClientDisconnectedError or TimeoutError if nobody receives it; any error cuts the connection."""
        gone = self._begin(self._disconnected())
        try:
            under_way = self._begin(self._send({"type": "http.response.start", "status": status, "headers": headers}))
            waiting, size = [], 0
            for piece in pieces:
                waiting.append(piece)
                size += len(piece)
                if size >= BLOCK_BYTES or under_way.done():
                    under_way.result(SEND_S)
                    if gone.done():
                        raise ClientDisconnectedError
                    under_way = self._begin(self._send(_part(waiting)))
                    waiting, size = [], 0
            under_way.result(SEND_S)
            self._begin(self._send(_part(waiting, is_last=True))).result(SEND_S)
        finally:
            gone.cancel()

    def _begin(self, sending: Awaitable[None]) -> Future[None]:
        async def wait() -> None:
            await sending

        return asyncio.run_coroutine_threadsafe(wait(), self._loop)

    async def _disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class FileBlocks:
    """`wsgi.file_wrapper` with larger blocks: each block is passed from thread to thread."""

    def __init__(self, file: IO[bytes], _block_bytes: int = 0) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        while block := self._file.read(BLOCK_BYTES):
            yield block

    def close(self) -> None:
        self._file.close()


def environ_of(scope: dict[str, Any]) -> Environ:
    """Return the request as in PEP 3333, without its body."""
    client, server = scope.get("client") or ("", 0), scope.get("server") or ("localhost", 80)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": client[0],
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": FileBlocks,
    }
    for name, value in scope["headers"]:
        # With `_` it would look like the same name with `-`, which only proxies may set.
        if b"_" not in name:
            key = name.decode("latin-1").upper().replace("-", "_")
            key = key if key in WITHOUT_PREFIX else f"HTTP_{key}"
            text = value.decode("latin-1")
            between = "; " if key == "HTTP_COOKIE" else ","
            environ[key] = f"{environ[key]}{between}{text}" if key in environ else text
    return environ


async def _send_all(send: Send, messages: Iterable[Message]) -> None:
    for message in messages:
        await send(message)


def _refusal(path: str, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> list[Message]:
    kind, content = _TEXT, f"{sentence}\n".encode()
    if is_api(path):
        problem = problem_outside(status, sentence)
        kind, content = problem["Content-Type"].encode(), problem.content
    return _whole(status, [(b"content-type", kind), *_PLAIN, *headers], content)


def _whole(status: int, headers: Headers, content: bytes) -> list[Message]:
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        _part([content], is_last=True),
    ]


def _part(pieces: list[bytes], *, is_last: bool = False) -> Message:
    return {"type": "http.response.body", "body": b"".join(pieces), "more_body": not is_last}
