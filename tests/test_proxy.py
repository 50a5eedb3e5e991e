"""The proxy: its file, and what the real one makes of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.servers import ROOT, free_port, missing, wait_for_port
from tools.scripts.checks.image import images

pytestmark = pytest.mark.process


def caddy() -> Path:
    found = shutil.which("caddy", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if not found:
        missing("Caddy")
    return Path(found or "")


def test_the_proxy_understands_every_line_of_its_file():
    program = caddy()
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith(f"v{images()['CADDY_IMAGE'].removeprefix('caddy:')} ")

    for issuer in ("acme", "internal"):
        adapted = subprocess.run(
            [program, "adapt", "--validate", "--config", ROOT / "tools" / "deploy" / "Caddyfile"],
            env={**os.environ, "SITE": "captions.example.org", "CERTIFICATES": issuer},
            capture_output=True,
            text=True,
            check=False,
        )
        assert adapted.returncode == 0, adapted.stderr
    # It has a word of its own for what it would have written otherwise.
    assert "not formatted" not in adapted.stderr


@pytest.fixture
def without_tls(tmp_path: Path) -> Iterator[int]:
    """The port at which the proxy, with its own file, answers those who ask without TLS."""
    program, port = caddy(), free_port()
    about = {**os.environ, "SITE": "captions.example.org", "CERTIFICATES": "internal", "HOME": str(tmp_path)}
    adapt = [str(program), "adapt", "--config", str(ROOT / "tools" / "deploy" / "Caddyfile")]
    config = json.loads(subprocess.run(adapt, env=about, capture_output=True, check=True).stdout)
    for server in config["apps"]["http"]["servers"].values():
        server["listen"] = [f"127.0.0.1:{port if listen == ':80' else free_port()}" for listen in server["listen"]]
    config["apps"]["http"] |= {"http_port": port, "https_port": free_port()}
    config["apps"]["pki"] = {"certificate_authorities": {"local": {"install_trust": False}}}
    config["admin"] = {"disabled": True}
    (tmp_path / "caddy.json").write_text(json.dumps(config))
    run = [str(program), "run", "--config", str(tmp_path / "caddy.json")]
    with subprocess.Popen(run, env=about, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(port, process)
            yield port
        finally:
            process.kill()


def test_without_tls_people_are_led_to_it_and_programs_are_refused(without_tls: int):
    def ask(path: str) -> tuple[int, str | None]:
        connection = HTTPConnection("127.0.0.1", without_tls, timeout=10)
        connection.request("GET", path, headers={"Host": "captions.example.org", "Authorization": "Bearer secret"})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location")

    assert ask("/work/?page=2") == (308, "https://captions.example.org/work/?page=2")
    assert ask("/api/v1/work/") == (403, None)
