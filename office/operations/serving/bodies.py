"""Reading request bodies before a thread handles them, within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from core.images.rules.limits import MEGABYTE
from office.operations.rules.disk import NO_ROOM, is_full
from office.operations.rules.uploads import is_upload, most_bytes

IN_MEMORY_BYTES = 128 * 1024
"""In memory per body; the rest goes to a file, so that many large ones take no memory."""

PATIENCE_S, MIN_BYTES_S = 20.0, 8_000
"""How long a body may take, and how much must arrive in each second after that; the same in the proxy."""
IDLE_S = 60.0
"""The longest pause between two pieces."""

TOO_SLOW = "Your connection was too slow, so nothing was saved. Try again, or send less at once."

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Body = SpooledTemporaryFile[bytes]


class BodyRefusedError(Exception):
    """The body is refused: the status and the sentence to answer with."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class ClientDisconnectedError(Exception):
    """The client has gone, and nobody waits for an answer."""


def check_length(path: str, length: int | None) -> None:
    """Raise BodyRefusedError if the announced size is too large for the address."""
    if length is not None and length > most_bytes(path):
        raise _too_large(path)


async def read_body(receive: Receive, path: str) -> Body:
    """Read the whole body, ready to be read from its beginning.

    Raises BodyRefusedError where it is larger than the address takes, comes too slowly, or has no room on the disk.
    Raises ClientDisconnectedError where the connection ends first.
    """
    body, size, most, is_last = Body(IN_MEMORY_BYTES), 0, most_bytes(path), False
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S
    try:
        async with asyncio.timeout_at(until) as limit:
            while not is_last:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnectedError
                size += body.write(message.get("body", b""))
                if size > most:
                    raise _too_large(path)
                limit.reschedule(min(until + size / MIN_BYTES_S, loop.time() + IDLE_S))
                is_last = not message.get("more_body", False)
        body.seek(0)
    except BaseException as error:
        # The part in memory is written now, perhaps to a full disk.
        with suppress(OSError):
            body.close()
        if isinstance(error, TimeoutError):
            raise BodyRefusedError(408, TOO_SLOW) from error
        if is_full(error):
            raise BodyRefusedError(507, NO_ROOM) from error
        raise
    return body


def _too_large(path: str) -> BodyRefusedError:
    limit = most_bytes(path) // MEGABYTE
    if is_upload(path):
        together = f"Your files are larger than {limit} MB together, and none was kept."
        return BodyRefusedError(413, f"{together} Send them in several parts, or have them imported on the server.")
    return BodyRefusedError(413, f"The request is larger than {limit} MB, and nothing of it was kept.")
