"""Django's WSGI handler behind an ASGI server: a thread is given to a request once all of it is here.

Threads stay for good, and with them their connections to the database. Whoever sends slowly holds a socket and no more.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from io import SEEK_END, BytesIO
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from operations.bodies import Body, GoneError, Receive, RefusedError, check_length, read_body
from operations.rules.uploads import MAX_BODY_BYTES, is_upload

THREADS = 4
"""In each process, for everything that Django does."""

APART = frozenset({"/readyz"})
"""What may wait for others has a thread of its own, so that pages never wait for it."""

BLOCK_BYTES = 256 * 1024
SEND_S = 60.0
"""In which whoever downloads has to take the next piece."""

BODILESS = frozenset({"GET", "HEAD"})
WITHOUT_PREFIX = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})

Environ = dict[str, Any]
Message = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Handle = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Send = Callable[[Message], Awaitable[None]]

_TEXT: Headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]


class Application:
    """An ASGI application. `check_uploader` raises RefusedError where no more than a page's own form is taken."""

    def __init__(self, handle: Handle, *, check_uploader: Callable[[Environ], None]) -> None:
        self._handle, self._check_uploader = handle, check_uploader
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="web")
        self._apart = ThreadPoolExecutor(1, thread_name_prefix="probe")

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        environ, loop = environ_of(scope), asyncio.get_running_loop()
        with suppress(GoneError):
            try:
                body = await self._body(environ, receive, loop)
            except RefusedError as refused:
                await _send_all(send, _whole(refused.status, _TEXT, f"{refused.sentence}\n".encode()))
                return
            with body:
                environ["wsgi.input"] = body
                threads = self._apart if environ["PATH_INFO"] in APART else self._threads
                streamer = _Streamer(receive, send, loop)
                await _send_all(send, await loop.run_in_executor(threads, self._answer, environ, streamer))

    async def _body(self, environ: Environ, receive: Receive, loop: asyncio.AbstractEventLoop) -> Body:
        path, length = environ["PATH_INFO"], int(environ["CONTENT_LENGTH"]) if "CONTENT_LENGTH" in environ else None
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ
        if length == 0 or (length is None and not is_chunked and environ["REQUEST_METHOD"] in BODILESS):
            return Body()
        check_length(path, length)
        # Files of people who may not send any would fill the disk, only to be thrown away.
        if is_upload(path) and (length is None or length > MAX_BODY_BYTES):
            await loop.run_in_executor(self._threads, self._check_uploader, environ)
        body = await read_body(receive, path)
        # Django reads as much as is announced; a body in chunks announces nothing.
        environ["CONTENT_LENGTH"] = str(body.seek(0, SEEK_END))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        body.seek(0)
        return body

    def _answer(self, environ: Environ, streamer: _Streamer) -> list[Message]:
        """What is still to be sent; a stream is sent from here, piece by piece."""
        started: list[tuple[int, Headers]] = []

        def start(status: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
            sent = [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]
            started[:] = [(int(status[:3]), sent)]

        response = self._handle(environ, start)
        try:
            if not isinstance(response, list) and getattr(response, "streaming", True):
                streamer.send_all(*started[0], response)
                return []
            return _whole(*started[0], b"".join(response))
        finally:
            if close := getattr(response, "close", None):
                close()


class _Streamer:
    """Sends from a thread, no faster than it is taken; what is made while one piece is on its way is the next."""

    def __init__(self, receive: Receive, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self._receive, self._send, self._loop = receive, send, loop

    def send_all(self, status: int, headers: Headers, pieces: Iterable[bytes]) -> None:
        """Raises GoneError or TimeoutError where nobody takes it any more. After any error the connection is cut."""
        gone = self._begin(self._leaving())
        try:
            under_way = self._begin(self._send({"type": "http.response.start", "status": status, "headers": headers}))
            waiting, size = [], 0
            for piece in pieces:
                waiting.append(piece)
                size += len(piece)
                if size >= BLOCK_BYTES or under_way.done():
                    under_way.result(SEND_S)
                    if gone.done():
                        raise GoneError
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

    async def _leaving(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class FileBlocks:
    """`wsgi.file_wrapper`, in larger blocks than anybody asks for: each is a way from thread to thread."""

    def __init__(self, file: IO[bytes], _block_bytes: int = 0) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        while block := self._file.read(BLOCK_BYTES):
            yield block

    def close(self) -> None:
        self._file.close()


def environ_of(scope: dict[str, Any]) -> Environ:
    """The request as PEP 3333 has it, without its body."""
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
        # With `_` it would pass for the same name with `-`, which only proxies may set.
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


def _whole(status: int, headers: Headers, content: bytes) -> list[Message]:
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        _part([content], is_last=True),
    ]


def _part(pieces: list[bytes], *, is_last: bool = False) -> Message:
    return {"type": "http.response.body", "body": b"".join(pieces), "more_body": not is_last}
