"""The compose file brought up under a project name of its own, with secrets made up for it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.deploy.trial.engine import ROOT, ContainerEngine, image_names
from tools.deploy.trial.log import FailedError

PROJECT = "crosslens-trial"
SERVICES = ("postgres", "redis", "web", "worker", "beat", "proxy")
AUTHORITY = "/data/caddy/pki/authorities/local/root.crt"
INSIDE = Path(__file__).resolve().parent / "inside.py"
BACKUPS = "/srv/crosslens/backups"
READY_S = 240


class TrialInstallation:
    def __init__(self, engine: ContainerEngine, *, pip: Path, authorities: Path) -> None:
        self.engine = engine
        self.settings = engine.work / "env"
        self.http, self.https = _port(80, 8080), _port(443, 8443)
        kept = {"PATH", "HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
        # A variable of the calling process would override the file.
        self.environment = {
            name: value for name, value in engine.environment.items() if name in kept or name.startswith("DOCKER_")
        }
        files = ("--file", ROOT / "docker-compose.yml", "--file", Path(__file__).parent / "compose.yml")
        self.command: list[str | Path] = [
            "docker",
            "compose",
            "--project-name",
            PROJECT,
            "--env-file",
            self.settings,
            *files,
        ]
        made = {
            "SITE": "localhost",
            "ALLOWED_HOSTS": "localhost",
            "CERTIFICATES": "internal",
            "SECRET_KEY": secrets.token_urlsafe(64),
            "POSTGRES_PASSWORD": secrets.token_hex(24),
            "POSTGRES_SUPERUSER_PASSWORD": secrets.token_hex(24),
            "REDIS_PASSWORD": secrets.token_hex(24),
            "EMAIL_URL": "consolemail://",
            "DEFAULT_FROM_EMAIL": "Trial <trial@example.org>",
            "TRIAL_HTTP_PORT": str(self.http),
            "TRIAL_HTTPS_PORT": str(self.https),
            "TRIAL_PIP_CONF": str(pip),
            "TRIAL_AUTHORITIES": str(authorities),
        }
        # Until tools/deploy/pin knows them; Compose takes nothing down either where one is missing.
        made |= dict.fromkeys(image_names(), "unknown")
        self.secrets = [made[name] for name in made if name.endswith("PASSWORD") or name == "SECRET_KEY"]
        self.settings.touch(mode=0o600)
        self.settings.write_text("".join(f"{name}={value}\n" for name, value in made.items()))

    def compose(self, *arguments: str, given: str | None = None, may_fail: bool = False) -> str:
        command = [*self.command, *arguments]
        done = self.engine.log.run(command, environment=self.environment, given=given, may_fail=may_fail)
        return done.stdout

    def build(self) -> None:
        commit = self.engine.log.run(["git", "-C", ROOT, "rev-parse", "HEAD"], may_fail=True).stdout.strip()
        self.compose("build", "--build-arg", f"COMMIT={commit or 'unknown'}", "web")

    def up(self) -> None:
        self.compose("up", "--detach", "--no-build")
        self.wait_until_ready()

    def down(self) -> None:
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "20", may_fail=True)

    def execute(self, service: str, *command: str, given: str | None = None, may_fail: bool = False) -> str:
        return self.compose("exec", "-T", service, *command, given=given, may_fail=may_fail)

    def manage(self, *arguments: str, given: str | None = None) -> str:
        return self.compose("run", "--rm", "-T", "manage", *arguments, given=given)

    def inside(self, call: str) -> Any:
        """What a function of inside.py returns, called in a container of its own."""
        program = f"{INSIDE.read_text()}\nprint(json.dumps({call}))\n"
        return json.loads(self.manage("shell", given=program).splitlines()[-1])

    def query(self, sql: str) -> list[str]:
        """Lines that the superuser is told."""
        command = ("psql", "--username", "postgres", "--dbname", "crosslens", "--no-align", "--tuples-only")
        return self.execute("postgres", *command, "--set", "ON_ERROR_STOP=1", given=sql).splitlines()

    def container(self, service: str) -> str:
        return self.compose("ps", "--all", "--quiet", service).strip()

    def inspect(self, service: str) -> Any:
        return json.loads(self.engine.docker("inspect", self.container(service)))[0]

    def kill(self, inspected: dict[str, dict[str, object]]) -> None:
        """As a crash does. `docker kill` would count as an operator's wish, after which nothing is started again."""
        os.kill(int(str(inspected["State"]["Pid"])), signal.SIGKILL)

    def wait_until_ready(self) -> float:
        """Until /readyz says so, and each service runs; returns how long that took."""
        began = time.monotonic()
        self.wait("everything is ready", self._is_ready, READY_S)
        return time.monotonic() - began

    def _is_ready(self) -> bool:
        lines = self.compose("ps", "--format", "json", may_fail=True).splitlines()
        states = {each["Service"]: (each["State"], each["Health"]) for each in map(json.loads, lines)}
        if any(states.get(name, ("", ""))[0] != "running" for name in SERVICES):
            return False
        if any(health == "starting" or health == "unhealthy" for _state, health in states.values()):
            return False
        said = self.execute("web", "python", "config/probe.py", "/readyz", may_fail=True)
        return bool(said) and all(line.endswith(": ok") for line in said.splitlines())

    def wait(self, what: str, condition: Callable[[], bool], limit_s: float) -> None:
        until = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > until:
                raise FailedError(f"Not after {limit_s:.0f} s: {what}")
            time.sleep(1)

    def trust(self) -> ssl.SSLContext:
        """What a browser needs that trusts the proxy's own authority, and nobody else."""
        path = self.engine.work / "authority.crt"
        path.write_text(self.execute("proxy", "cat", AUTHORITY))
        return ssl.create_default_context(cafile=str(path))


def _port(wanted: int, otherwise: int) -> int:
    for port in (wanted, otherwise, 0):
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("0.0.0.0", port))  # noqa: S104 - as the proxy does
            return int(probe.getsockname()[1])
    raise FailedError("No port is free.")
