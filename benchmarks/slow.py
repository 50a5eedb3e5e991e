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
import os
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).resolve().parent.parent
PORT, START_LIMIT_S, PATIENCE_S, BETWEEN_BYTES_S, WARM = 8766, 60, 10, 2, 20
GRANIAN = f"{sys.executable} -m granian --host 127.0.0.1 --port {{port}} --workers 2 --no-ws --log-level warning"
SERVERS = {
    "granian, WSGI": f"{GRANIAN} --interface wsgi --blocking-threads 4 config.wsgi:application",
    "granian, ASGI": f"{GRANIAN} --interface asginl config.asgi:application",
}
HEAD = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    # Without the cookie it is refused at once; anybody can make one up.
    b"Cookie: csrftoken=" + b"a" * 32 + b"\r\nContent-Length: 1000000\r\n\r\n"
)


def main() -> None:
    options = _options()
    more = dict(server.split("=", 1) for server in options.server)
    print(f"{'':22}{'/healthz, s':>24}{'p95 of a save, ms':>24}{'saves a second':>24}")
    print(f"{'':22}" + f"{'alone':>12}{'slow':>12}" * 3)
    for name, command in (SERVERS | more).items():
        alone, slow = (_measure(command, options, slow) for slow in (0, options.slow))
        figures = [each[what] for what in ("healthz_s", "p95_ms", "saves_per_s") for each in (alone, slow)]
        print(f"{name:22}" + "".join(f"{figure:>12}" for figure in figures), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--server", action="append", default=[])
    return parser.parse_args()


def _measure(command: str, options: argparse.Namespace, slow: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crosslens_slow_") as var:
        env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "CROSSLENS_VAR": var}
        prepare = [sys.executable, "-m", "benchmarks.prepare", "400", str(options.people)]
        made = json.loads(subprocess.check_output(prepare, cwd=ROOT, env=env).splitlines()[-1])
        server = subprocess.Popen(shlex.split(command.format(port=PORT)), cwd=ROOT, env=env)
        try:
            return asyncio.run(_under(slow, made["round"], options))
        finally:
            server.terminate()
            try:
                server.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                server.kill()


async def _under(slow: int, round: int, options: argparse.Namespace) -> dict[str, Any]:
    await _started()
    longest_s = [0.0]
    around = [asyncio.create_task(_dribble()) for _ in range(slow)]
    # Also those on whose bytes a server waits longest have begun.
    await asyncio.sleep(BETWEEN_BYTES_S)
    around.append(asyncio.create_task(_ask_health(longest_s)))
    load = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load", "caption", f"http://127.0.0.1:{PORT}", str(round)),
        *(str(options.people), str(options.seconds)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        told, _none = await asyncio.wait_for(load.communicate(), options.seconds + 6 * PATIENCE_S)
        found = json.loads(told.splitlines()[-1])
        save = found["steps"]["submit"]
        return {
            "healthz_s": round_s(longest_s[0]),
            "p95_ms": save["p95_ms"],
            "saves_per_s": found["answers_per_s"],
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


async def _started() -> None:
    """Every process has answered: the first request of each loads all addresses."""
    until, answered = time.monotonic() + START_LIMIT_S, 0
    while time.monotonic() < until:
        with suppress(aiohttp.ClientError):
            async with aiohttp.ClientSession() as session:
                await (await session.get(f"http://127.0.0.1:{PORT}/healthz")).read()
            answered += 1
        if answered == WARM:
            return
        await asyncio.sleep(0.1)
    raise SystemExit(f"No server on port {PORT} after {START_LIMIT_S} s.")


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
                await (await session.get(f"http://127.0.0.1:{PORT}/healthz")).read()
            longest_s[0] = max(longest_s[0], time.monotonic() - began)
            await asyncio.sleep(0.25)


if __name__ == "__main__":
    main()
