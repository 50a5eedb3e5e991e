"""Connections that announce a body and send a byte of it now and then."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from contextlib import suppress

from deploy.trial.browser import HOST

BETWEEN_BYTES_S = 2
BODY_BYTES = 20_000
HEAD = (
    f"POST /accounts/login/ HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    f"Content-Length: {BODY_BYTES}\r\n\r\n"
).encode()


class SlowConnections:
    """So many at once while the block lasts; `ended_s` tells after how long the server gave each up."""

    def __init__(self, count: int, port: int, trust: ssl.SSLContext) -> None:
        self.count, self.port, self.trust = count, port, trust
        self.opened = 0
        self.ended_s: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._all()), daemon=True)

    def __enter__(self) -> SlowConnections:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(60)

    async def _all(self) -> None:
        around = [asyncio.create_task(self._one()) for _ in range(self.count)]
        while not self._stop.is_set() and not all(task.done() for task in around):
            await asyncio.sleep(0.2)
        for task in around:
            task.cancel()
        await asyncio.gather(*around, return_exceptions=True)

    async def _one(self) -> None:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(HOST, self.port, ssl=self.trust)
            self.opened += 1
            began = time.monotonic()
            try:
                writer.write(HEAD)
                # A server that gives up answers, or ends the connection; either way there is something to read.
                answer = asyncio.create_task(reader.read(1))
                while not answer.done():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.wait([answer], timeout=BETWEEN_BYTES_S)
            finally:
                self.ended_s.append(time.monotonic() - began)
                writer.close()
