"""Web server and worker of one computer, started together and ended together."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.conf import settings

HOST = "127.0.0.1"
WEB_WORKERS = 2
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
REQUEST_TIMEOUT_S = 5
LOOK_EVERY_S = 0.1
START_AGAIN_EVERY_S = 2
PR_SET_PDEATHSIG = 1
# Looked up here: a process that was just forked off should load nothing.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class LaunchError(Exception):
    """Why the platform could not be started or went on no longer: a sentence for the person at the terminal."""


@dataclass
class DemoProcess:
    """One of the processes, with all those it starts itself in a process group of its own."""

    name: str
    command: list[str]
    is_started_again: bool = False
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0

    def start(self) -> None:
        # Its own session: Ctrl-C in the terminal reaches the launcher alone, which then ends both in order.
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            cwd=settings.BASE_DIR,
            start_new_session=True,
            preexec_fn=partial(_end_with, os.getpid()),  # noqa: PLW1509 - the launcher has one thread
        )
        self.started_at = time.monotonic()

    def check(self) -> None:
        """Raise LaunchError when it has ended, or start it again where nothing is lost with it."""
        if self.process and (code := self.process.poll()) is not None:
            if self.is_started_again:
                if time.monotonic() > self.started_at + START_AGAIN_EVERY_S:
                    self.start()
                return
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
            raise LaunchError(f"The {self.name} {how}; see its last lines above. Everything else was stopped too.")

    def stop(self, *, until: float) -> None:
        """End it in order, or by force once the monotonic clock shows `until`; nothing of its group is left."""
        if not self.process:
            return
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, until - time.monotonic()))
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _end_with(launcher: int) -> None:
    """Have the system end this process in order once the launcher is gone, however that ended. Linux only."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != launcher:
            os._exit(1)


def require_free(port: int) -> None:
    """Raise LaunchError when something else listens on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise LaunchError(
                f"Port {port} cannot be used ({error.strerror}). Another program or another installation is using it. "
                f"Stop that one, or choose another port, such as {port + 1}."
            ) from error


def run(*, port: int, welcome: Callable[[], str], say: Callable[[str], object]) -> None:
    """Start the web server and the worker, say `welcome` once the first page answers, and stay until told to stop.

    Raises LaunchError when the port is taken, or one of the two ends by itself. Nothing is left running.
    """
    require_free(port)
    web, worker, beat = parts = [
        DemoProcess("web server", _web(port)),
        DemoProcess("worker", _worker()),
        DemoProcess("beat", _celery("beat"), is_started_again=True),
    ]
    stop = threading.Event()
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, lambda _signal, _frame: stop.set()) for each in asked}
    try:
        # The web server first: the page somebody waits for need not share the processor with the worker's start.
        web.start()
        # Found out meanwhile.
        text = welcome()
        if _wait_for_page(port, web, stop):
            say(text)
            worker.start()
            beat.start()
        while not stop.wait(LOOK_EVERY_S):
            for part in parts:
                part.check()
    finally:
        _stop_all(parts)
        for each, handler in before.items():
            signal.signal(each, handler)


def _web(port: int) -> list[str]:
    return [
        *(sys.executable, "-m", "config.serve", "--interface", "asginl", "--host", HOST, "--port", str(port)),
        *("--workers", str(WEB_WORKERS), "--no-ws", "--log-level", "warning"),
        "config.asgi:application",
    ]


def _worker() -> list[str]:
    return [
        *_celery("worker"),
        *("--concurrency", "2", "--queues", "default,gpu"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def _celery(part: str) -> list[str]:
    # People may try the demo as root, for example in a container: no warning at each start.
    quiet = "ignore:You're running the worker with superuser privileges"
    return [
        *(sys.executable, "-W", quiet, "-m", "celery", "--app", "config", "--quiet"),
        *(part, "--loglevel", "WARNING"),
    ]


def _wait_for_page(port: int, web: DemoProcess, stop: threading.Event) -> bool:
    """Whether a page came before somebody asked to stop."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not stop.wait(LOOK_EVERY_S):
        web.check()
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"http://{HOST}:{port}/healthz", timeout=REQUEST_TIMEOUT_S).close()
            return True
        if time.monotonic() > deadline:
            raise LaunchError(f"The web server did not answer within {START_TIMEOUT_S} s; see its last lines above.")
    return False


def _stop_all(parts: list[DemoProcess]) -> None:
    for part in parts:
        if part.process and part.process.poll() is None:
            part.process.terminate()
    until = time.monotonic() + STOP_TIMEOUT_S
    for part in parts:
        part.stop(until=until)
