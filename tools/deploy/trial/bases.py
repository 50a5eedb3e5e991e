"""The images that an installation stands on: pulled where they can be, otherwise stand-ins out of Debian's packages.

A stand-in has the name, the programs and the users of the image in whose place it is, not its files: see standins/.
They are pushed to a registry of the trial's own, so that they are pinned by digest as the others are.
"""

from __future__ import annotations

import os
import re
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from tools.deploy.trial.engine import ContainerEngine
from tools.deploy.trial.log import FailedError

ROOT = Path(__file__).resolve().parents[3]
STANDINS = Path(__file__).resolve().parent / "standins"
REGISTRY = "127.0.0.1:5000"
REGISTRY_NAME = "crosslens-trial-registry"
PULL_S, REGISTRY_START_S = 30, 30


def image_names() -> dict[str, str]:
    """Of tools/deploy/images.env, by variable."""
    lines = (ROOT / "tools" / "deploy" / "images.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def provide_images(engine: ContainerEngine, *, pip: Path, authorities: Path) -> bool:
    """Have tools/deploy/pin write all images into .env of the trial; returns whether they are stand-ins."""
    smallest = image_names()["CADDY_IMAGE"]
    with suppress(FailedError):
        engine.docker("pull", "--quiet", smallest, timeout_s=PULL_S)
        _pin(engine, "")
        return False
    engine.log.show("No image can be pulled: stand-ins are made out of Debian's packages.")
    _make(engine, pip=pip, authorities=authorities)
    _pin(engine, f"{REGISTRY}/")
    return True


def _pin(engine: ContainerEngine, registry: str) -> None:
    environment = {**engine.environment, "ENV_FILE": str(engine.work / "env")}
    engine.log.run([ROOT / "tools" / "deploy" / "pin", *([registry] if registry else [])], environment=environment)


def _make(engine: ContainerEngine, *, pip: Path, authorities: Path) -> None:
    base = engine.import_base()
    images = image_names()

    def build(kind: str, tag: str, **arguments: str) -> None:
        command: list[str | Path] = ["build", "--network", "host", "--tag", tag]
        command += ["--file", STANDINS / f"{kind}.Dockerfile"]
        for name, value in ({"BASE": base} | arguments).items():
            command += ["--build-arg", f"{name}={value}"]
        command += ["--secret", f"id=pip,src={pip}", "--secret", f"id=authorities,src={authorities}"]
        engine.docker(*command, STANDINS)

    python = f"{REGISTRY}/{images['PYTHON_IMAGE']}"
    postgres, caddy = images["POSTGRES_IMAGE"], images["CADDY_IMAGE"]
    build("python", python)
    build("postgres", f"{REGISTRY}/{postgres}", VERSION=postgres.partition(":")[2])
    build("redis", f"{REGISTRY}/{images['REDIS_IMAGE']}")
    build("caddy", f"{REGISTRY}/{caddy}", VERSION=caddy.partition(":")[2], PYTHON=python)
    build("registry", REGISTRY_NAME)
    _check_versions(engine, images)
    engine.docker("rm", "--force", REGISTRY_NAME, may_fail=True)
    engine.docker("run", "--detach", "--name", REGISTRY_NAME, "--network", "host", REGISTRY_NAME)
    _wait_for_registry()
    for image in images.values():
        engine.docker("push", "--quiet", f"{REGISTRY}/{image}")


def _check_versions(engine: ContainerEngine, images: dict[str, str]) -> None:
    """A stand-in is of the version whose place it takes."""
    for variable, command in (
        ("PYTHON_IMAGE", ("python", "--version")),
        ("POSTGRES_IMAGE", ("postgres", "--version")),
        ("REDIS_IMAGE", ("redis-server", "--version")),
        ("CADDY_IMAGE", ("caddy", "version")),
    ):
        image = f"{REGISTRY}/{images[variable]}"
        entry = ("--entrypoint", command[0])
        said = engine.docker("run", "--rm", "--network", "none", *entry, image, *command[1:])
        wanted = re.match(r"[\d.]+", images[variable].partition(":")[2])
        version = re.search(r"\d+\.[\d.]+", said)
        if wanted is None or version is None or not f"{version[0]}.".startswith(f"{wanted[0]}."):
            raise FailedError(f"The stand-in of {images[variable]} is another version: {said.strip()}")
        engine.log.show(f"Stand-in of {images[variable]}: {said.strip().splitlines()[0][:60]}")


def _wait_for_registry() -> None:
    until = time.monotonic() + REGISTRY_START_S
    while time.monotonic() < until:
        with suppress(OSError):
            urllib.request.urlopen(f"http://{REGISTRY}/v2/", timeout=2)
            return
        time.sleep(0.5)
    raise FailedError(f"No registry on {REGISTRY}.")


def package_index(work: Path) -> tuple[Path, Path]:
    """pip's configuration and the certificate authorities for the build, from TRIAL_PIP_CONF and TRIAL_AUTHORITIES.

    In the build the authorities are /run/secrets/authorities, which `cert` of the configuration may name.
    """
    nothing = work / "nothing"
    nothing.touch()
    pip, authorities = (Path(os.environ.get(name) or nothing) for name in ("TRIAL_PIP_CONF", "TRIAL_AUTHORITIES"))
    for path in (pip, authorities):
        if not path.is_file():
            raise FailedError(f"{path} is no file: correct TRIAL_PIP_CONF and TRIAL_AUTHORITIES.")
    return pip.absolute(), authorities.absolute()
