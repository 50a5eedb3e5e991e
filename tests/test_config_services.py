"""Celery over both transports, and a production installation's processes on real PostgreSQL and Redis."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.environment import OPTIONAL, REQUIRED
from inference.services.running import SLICE_S
from inference.tasks import SHORT_SLICE_S
from tests.servers import ROOT, embedded_environment, free_port
from tests.test_config_environment import PRODUCTION

# Only a failure waits so long: five processes start at once, on a machine that may have other work.
WAIT_S = 180
WEB = ("granian", "--interface", "asginl", "--workers", "2", "config.asgi:application")
WORKER = ("celery", "--app", "config", "worker", "--pool", "solo", "--loglevel", "INFO")
BEAT = ("celery", "--app", "config", "beat", "--loglevel", "DEBUG")


@contextmanager
def running(folder: Path, environment: Mapping[str, str], *command: str) -> Iterator[Path]:
    """A process of the platform and, when the block ends, nothing of it; yields the file it writes to."""
    log = folder / f"{command[0]}-{time.monotonic_ns()}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(condition: Callable[[], object], log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"Nothing after {WAIT_S} s:\n{log.read_text()}"
        time.sleep(0.1)


def send_sweep(environment: Mapping[str, str]) -> None:
    code = "import config, django; django.setup(); from allocation.tasks import sweep_leases; sweep_leases.delay()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, timeout=WAIT_S)


def manage(environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, check=True, timeout=3 * WAIT_S)


@pytest.fixture
def production_environment(tmp_path: Path, postgres_url: str, redis_url: str) -> Mapping[str, str]:
    media = tmp_path / "media"
    services = {
        "DATABASE_URL": postgres_url,
        "CELERY_BROKER_URL": redis_url,
        "STORAGE_URL": f"file://{media}",
        "EMAIL_URL": "consolemail://",
    }
    return embedded_environment(tmp_path / "var", **(PRODUCTION | services))


@pytest.mark.slow(reason="a worker of its own is started")
def test_a_task_goes_through_a_worker_over_files(tmp_path):
    environment = embedded_environment(tmp_path / "var")
    manage(environment, "migrate", "--verbosity", "0")

    with running(tmp_path, environment, *WORKER) as log:
        send_sweep(environment)
        wait_until(lambda: re.search(r"sweep_leases\[.*succeeded", log.read_text()), log)


@pytest.mark.slow(reason="all processes of an installation are started")
def test_the_processes_of_a_production_installation_work_together(tmp_path, production_environment):
    (tmp_path / "var").mkdir()
    manage(production_environment, "migrate", "--verbosity", "0")
    manage(production_environment, "collectstatic", "--no-input", "--verbosity", "0")
    port = free_port()

    with ExitStack() as processes:
        web = processes.enter_context(running(tmp_path, production_environment, *WEB, "--port", str(port)))
        worker = processes.enter_context(running(tmp_path, production_environment, *WORKER))
        beat = processes.enter_context(running(tmp_path, production_environment, *BEAT))
        wait_until(lambda: status_of(port, "/healthz") == 200, web)
        assert status_of(port, "/accounts/login/", {"X-Forwarded-Proto": "https"}) == 200
        assert status_of(port, "/accounts/login/") == 301  # to https
        assert status_of(port, "/healthz", {"Host": "evil.example.net"}) == 400
        # Asked from inside, without TLS.
        assert status_of(port, "/readyz") == status_of(port, "/metrics") == 200
        send_sweep(production_environment)
        wait_until(lambda: re.search(r"sweep_leases\[.*succeeded", worker.read_text()), worker)
        wait_until(lambda: "Sending due task" in beat.read_text(), beat)
        lines = [line for log in (web, worker) for line in log.read_text().splitlines() if line.startswith("{")]
        told = [json.loads(line) for line in lines]
        assert {"operations.access", "celery.app.trace"} <= {line["logger"] for line in told}
        assert all(line["request_id"] for line in told if line["logger"] == "operations.access")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object) -> None:
        return None


def status_of(port: int, path: str, headers: Mapping[str, str] | None = None) -> int | None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Host": "crosslens.example.org", **(headers or {})}
    )
    try:
        return urllib.request.build_opener(NoRedirect).open(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


OURS = ("web", "worker", "gpu-worker", "beat")
SERVERS = ("proxy", "postgres", "redis")


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.mark.parametrize("service", OURS)
def test_compose_gives_each_process_every_variable_it_needs(service):
    given = compose()["services"][service]["environment"]

    assert set(REQUIRED) <= set(given)
    # The last two are not ours: where the hub keeps what it fetches, and how many processes the web server has.
    assert set(given) <= {*REQUIRED, *OPTIONAL, "HF_HOME", "GRANIAN_WORKERS"}


def test_compose_has_no_secret_in_it_and_waits_for_health():
    services = compose()["services"]

    assert set(services) == {*OURS, *SERVERS, "migrate"}
    assert all("healthcheck" in services[name] for name in ("web", "postgres", "redis"))
    assert services["proxy"]["depends_on"]["web"]["condition"] == "service_healthy"
    for variable in ("SECRET_KEY", "ALLOWED_HOSTS", "EMAIL_URL", "DEFAULT_FROM_EMAIL"):
        assert services["web"]["environment"][variable].startswith(f"${{{variable}:?")
    for name in OURS:
        assert "${POSTGRES_PASSWORD:?" in services[name]["environment"]["DATABASE_URL"]


def test_only_the_proxy_can_be_reached_from_outside():
    described = compose()
    services = described["services"]

    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert described["networks"]["back"]["internal"] is True
    assert services["proxy"]["networks"] == ["front"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["back"]


def test_what_compose_keeps_is_in_volumes_that_it_names():
    described = compose()
    mounted = {
        re.sub(r"^\$\{\w+:-(\w+)\}", r"\1", volume).partition(":")[0]
        for service in described["services"].values()
        for volume in service.get("volumes", [])
    }

    assert {name for name in mounted if not name.startswith(".")} == set(described["volumes"])


def test_workers_are_given_the_time_to_come_to_an_end():
    services = compose()["services"]

    def grace_s(name: str) -> int:
        return int(services[name]["stop_grace_period"].removesuffix("s"))

    assert grace_s("worker") > SHORT_SLICE_S
    assert grace_s("gpu-worker") > SLICE_S
    # Compose kills the server later than the server its own processes.
    seconds = re.search(r'"--workers-kill-timeout", "(\d+)s"', dockerfile())
    assert seconds is not None
    assert grace_s("web") > int(seconds[1])


def test_every_service_ends_its_logs_somewhere_and_the_platforms_have_no_rights():
    services = compose()["services"]

    assert all(service["logging"]["options"]["max-size"] for service in services.values())
    for name in OURS:
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["init"] is True


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def test_the_image_runs_as_nobody_special_and_has_no_tools_to_build_with():
    last = dockerfile().rpartition("\nFROM ")[2]

    assert re.search(r"^USER \d{4,}$", last, re.MULTILINE)
    assert "pip install" not in last
    assert not re.search(r"\b(gcc|g\+\+|build-essential|\w+-dev)\b", last)
    assert "HEALTHCHECK" in last


def test_the_image_has_the_programs_of_the_server_that_compose_starts():
    server = compose()["services"]["postgres"]["image"].partition(":")[2]

    assert f"postgresql-client-{server}" in dockerfile()


def test_every_folder_that_compose_mounts_is_the_users_own_in_the_image():
    folders = [volume.rpartition(":")[2] for volume in compose()["services"]["web"]["volumes"]]

    made = dockerfile().replace("\\\n", " ")
    owned = re.search(r"chown -R 10001 ([^&\n]+)", made)
    assert owned is not None
    assert [folder for folder in folders if not any(folder.startswith(each) for each in owned[1].split())] == []


def test_the_image_is_told_the_version_of_everything_it_installs():
    constraints = dict(
        line.lower().split("==")
        for line in (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    wanted = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)

    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name.lower())

    known = {plain(name): version for name, version in constraints.items()}
    assert wanted
    differing = [name for name, version in wanted if known.get(plain(name)) != version]
    assert differing == [], "Run: python -m scripts.constraints"
    assert len(known) > len(wanted)


def test_the_proxy_passes_on_what_the_platform_counts_on():
    caddyfile = (ROOT / "deploy" / "Caddyfile").read_text()

    for line in ("flush_interval -1", "encode zstd gzip", "header_up X-Request-ID {http.request.uuid}", "max_size 1MB"):
        assert line in caddyfile
    for line in ("read_header 10s", "read_body_idle 20s 8000", "handle /readyz {\n\t\trespond 404"):
        assert line in caddyfile
    # Bodies that are half here would fill its memory.
    assert "_buffers" not in caddyfile
    # Said once, by Django.
    assert "Strict-Transport-Security" not in caddyfile
    assert caddyfile.count("{") == caddyfile.count("}")
    given = compose()["services"]["proxy"]["environment"]
    assert set(re.findall(r"\{\$(\w+)", caddyfile)) - {"WEB"} == set(given)


def test_the_documents_name_the_proxy_and_the_web_command_of_the_image():
    version = compose()["services"]["proxy"]["image"].removeprefix("caddy:")
    settings = (ROOT / "docs" / "settings.md").read_text()
    dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    command = json.loads(dockerfile.rpartition("\nCMD ")[2])
    command = command[: command.index("--log-config")] + command[command.index("--log-config") + 2 :]

    assert f"Caddy ({version} or newer)" in (ROOT / "docs" / "operators.md").read_text()
    assert f"| web | `{' '.join(command)}` |" in settings.replace(" --workers 2", "")
