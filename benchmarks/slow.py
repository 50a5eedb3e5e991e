"""How the web server stands slow connections: `python -m benchmarks.slow`.

    python -m benchmarks.slow [--slow 200] [--seconds 10] [--people 8] [--server 'NAME=COMMAND with {port}']

Each server is asked twice: alone, and while connections that nobody signed in to announce a body of a megabyte and send
a byte of it every other second. Told are the longest wait for /healthz and what 95 in 100 saves of annotators took.
Beside ours there is granian over WSGI, which gives a thread to whatever has begun; `--server` adds others:

    --server 'gunicorn=gunicorn --bind 127.0.0.1:{port} --workers 2 --threads 4 --worker-class gthread config.wsgi'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import aiohttp

from benchmarks.harness import ASGI, BASE, GRANIAN, PATIENCE_S, PORT, ROOT, arguments, embedded, run, served

BETWEEN_BYTES_S = 2
SERVERS = {
    "granian, WSGI": f"{GRANIAN} --log-level warning --interface wsgi --blocking-threads 4 config.wsgi:application",
    "granian, ASGI": ASGI,
}
HEAD = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    # Without the cookie it is refused at once; anybody can make one up.
    b"Cookie: csrftoken=" + b"a" * 32 + b"\r\nContent-Length: 1000000\r\n\r\n"
)


def main() -> None:
    options = arguments(__doc__, slow=200, seconds=10.0, people=8, server=[])
    more = dict(server.split("=", 1) for server in options.server)
    print(f"{'':22}{'/healthz, s':>24}{'p95 of a save, ms':>24}{'saves a second':>24}")
    print(f"{'':22}" + f"{'alone':>12}{'slow':>12}" * 3)
    for name, command in (SERVERS | more).items():
        alone, slow = (_measure(command, options, slow) for slow in (0, options.slow))
        figures = [each[what] for what in ("healthz_s", "p95_ms", "saves_per_s") for each in (alone, slow)]
        print(f"{name:22}" + "".join(f"{figure:>12}" for figure in figures), flush=True)


def _measure(command: str, options: argparse.Namespace, slow: int) -> dict[str, Any]:
    with embedded() as env:
        prepared = run("prepare", people=options.people, env=env)
        with served(env, command):
            return asyncio.run(_under(slow, prepared["round"], options))


async def _under(slow: int, round: int, options: argparse.Namespace) -> dict[str, Any]:
    longest_s = [0.0]
    around = [asyncio.create_task(_dribble()) for _ in range(slow)]
    # Also those on whose bytes a server waits longest have begun.
    await asyncio.sleep(BETWEEN_BYTES_S)
    around.append(asyncio.create_task(_ask_health(longest_s)))
    load = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load", "--kind", "caption", "--target", str(round)),
        *("--people", str(options.people), "--seconds", str(options.seconds)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        told, _none = await asyncio.wait_for(load.communicate(), options.seconds + 6 * PATIENCE_S)
        result = json.loads(told.splitlines()[-1])
        return {
            "healthz_s": round_s(longest_s[0]),
            "p95_ms": result["steps"]["save"]["p95_ms"],
            "saves_per_s": result["answers_per_s"],
        }
    except (TimeoutError, IndexError, KeyError):
        # Nobody could sign in, or save anything.
        with suppress(ProcessLookupError):
            load.kill()
        return {"healthz_s": round_s(longest_s[0]), "p95_ms": "none", "saves_per_s": 0}
    finally:
        for task in around:
            task.cancel()
        await asyncio.gather(*around, return_exceptions=True)


def round_s(seconds: float) -> str:
    return f"over {PATIENCE_S}" if seconds >= PATIENCE_S else f"{seconds:.2f}"


async def _dribble() -> None:
    """One slow connection after the other: a server that gives up on one has the next."""
    while True:
        with suppress(OSError):
            _reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
            try:
                writer.write(HEAD)
                while not writer.is_closing():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(BETWEEN_BYTES_S)
            finally:
                writer.close()
        await asyncio.sleep(BETWEEN_BYTES_S)


async def _ask_health(longest_s: list[float]) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as session:
        while True:
            began = time.monotonic()
            with suppress(aiohttp.ClientError, TimeoutError):
                await (await session.get(f"{BASE}/healthz")).read()
            longest_s[0] = max(longest_s[0], time.monotonic() - began)
            await asyncio.sleep(0.25)


if __name__ == "__main__":
    main()
