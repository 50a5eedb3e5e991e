"""Holds what all benchmarks share: arguments, clocks, processes of their own, servers. Needs no Django."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psutil

from config import ROOT

PORT, WEB_WORKERS, START_LIMIT_S, PATIENCE_S, WARM_UP_REQUESTS = 8765, 2, 60, 10, 20
BASE = f"http://127.0.0.1:{PORT}"
OPTIONS = f"--host 127.0.0.1 --port {PORT} --workers {WEB_WORKERS} --no-ws --log-level warning --interface asginl"
ASGI = f"{sys.executable} -m config.serve {OPTIONS} config.asgi:application"
THROUGH_PROXY = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.0.1", "Referer": BASE.replace("http", "https")}
"""Headers that a proxy and a browser send in production, which is where PostgreSQL is measured."""
TOKEN = "0123456789abcdef0123456789abcdef"
"""Against forged requests, of those who are signed in without a page."""


def arguments(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """Parse an option for each of `defaults`: a flag where that is False."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=default)
    return parser.parse_args()


def print_result(result: Mapping[str, Any], report: str = "") -> None:
    """Print a report for people, then one line of JSON for the process that started this one."""
    if report:
        print(report)
    print(json.dumps({**result, **({"report": report} if report else {})}))


def run(module: str, *, env: Mapping[str, str] | None = None, **options: object) -> dict[str, Any]:
    """Run a benchmark in a process of its own and return the result that it tells; True gives a flag."""
    command = [sys.executable, "-m", f"tools.benchmarks.{module}"]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    done = subprocess.run(command, cwd=ROOT, env=environment(env), stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **(env or {})}


@contextlib.contextmanager
def sqlite_environment() -> Iterator[dict[str, str]]:
    """Give the environment of an empty installation on SQLite, in a folder that is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        yield {"CROSSLENS_VAR": var}


@contextlib.contextmanager
def served_platform(env: Mapping[str, str], command: str = ASGI) -> Iterator[psutil.Process]:
    """Serve the platform; begins when each process has answered, as its first request loads all addresses."""
    # A line of log is written for each request, as in production.
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the server
    server = subprocess.Popen(shlex.split(command), cwd=ROOT, env=environment(env), stdout=log, stderr=log)
    try:
        began, answers = time.monotonic(), 0
        while answers < WARM_UP_REQUESTS:
            try:
                with urllib.request.urlopen(f"{BASE}/healthz", timeout=PATIENCE_S):
                    answers += 1
            except OSError:
                if server.poll() is not None or time.monotonic() - began > START_LIMIT_S:
                    log.seek(0)
                    print(log.read(), file=sys.stderr)
                    raise
                time.sleep(0.1)
        yield psutil.Process(server.pid)
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def largest_process_mb(server: psutil.Process) -> int:
    """What it takes of the machine: memory that processes share counts in parts (Linux's PSS)."""
    return round(max(child.memory_full_info().pss for child in server.children(recursive=True)) / 2**20)


class TimedCall(NamedTuple):
    """Seconds by the clock and of the processor (of this process, not of a database's), and what the call returned."""

    wall_s: float
    cpu_s: float
    answer: Any


def timed_call(act: Callable[[], Any]) -> TimedCall:
    began, cpu = time.perf_counter(), time.process_time()
    answer = act()
    return TimedCall(time.perf_counter() - began, time.process_time() - cpu, answer)


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Summarise times in milliseconds."""
    ordered = sorted(1000 * one for one in seconds)
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    named = {"median_ms": statistics.median(ordered), "p95_ms": p95, "max_ms": ordered[-1]}
    return {"n": len(ordered), **{name: round(value, 2) for name, value in named.items()}}


def summary_of(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Time each call once and summarise, with the processor's median beside."""
    times = [timed_call(call) for call in calls]
    cpu_ms = 1000 * statistics.median(one.cpu_s for one in times)
    return {**summary([one.wall_s for one in times]), "cpu_ms": round(cpu_ms, 2)}
