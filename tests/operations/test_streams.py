"""What is returned: whole, or piece by piece by a thread that holds up nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest

from office.operations.serving import handler
from tests.operations.asked import Asked, in_a_loop, length, refuse, scope


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
