"""The container engine of a trial, the machine's own or one of the trial's, and the images that it builds on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from tools.deploy.trial.log import FailedError, TrialLog

START_S = 60
COMPOSE = (2, 24)
SUITE = "trixie"
BASE = "crosslens-trial/debian:" + SUITE
WAYS: tuple[list[str], ...] = ([], ["--storage-driver", "vfs", "--iptables=false"])
"""The second is for machines whose kernel lacks overlays or filters of packets."""


class ContainerEngine:
    def __init__(self, log: TrialLog, work: Path) -> None:
        self.log, self.work = log, work
        self.environment = {**os.environ, "DOCKER_CONFIG": str(work / "client")}
        self.process: subprocess.Popen[bytes] | None = None
        self.version = ""

    def start(self) -> None:
        if not self._answers():
            self._install("dockerd", "docker.io")
            for way in WAYS:
                if self._started(way):
                    break
            else:
                raise FailedError(f"No engine starts; see {self.work / 'engine.log'}.")
        self.version = self.docker("version", "--format", "{{.Server.Version}}").strip()
        self._find_compose()

    def _answers(self) -> bool:
        if shutil.which("docker") is None:
            return False
        return self.log.run(["docker", "info"], environment=self.environment, may_fail=True).returncode == 0

    def _install(self, program: str, package: str) -> None:
        if shutil.which(program) is None:
            self.log.run(["apt-get", "update", "--quiet"])
            command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package]
            self.log.run(command, environment={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if shutil.which(program) is None:
            raise FailedError(f"{program} is not here, and Debian's package {package} does not bring it.")

    def _started(self, way: list[str]) -> bool:
        folder = self.work / "engine"
        folder.mkdir(exist_ok=True)
        socket = f"unix://{folder / 'socket'}"
        places: list[str | Path] = [
            "--data-root",
            folder / "data",
            "--exec-root",
            folder / "run",
            "--pidfile",
            folder / "pid",
        ]
        with (self.work / "engine.log").open("ab") as output:
            self.process = subprocess.Popen(
                ["dockerd", *places, "--host", socket, *way],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.environment["DOCKER_HOST"] = socket
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            if self._answers():
                self.log.show(f"An engine of its own: dockerd {' '.join(way)}")
                return True
            time.sleep(1)
        self._end()
        return False

    def _find_compose(self) -> None:
        """Where Compose is older than the compose file needs, or not here, one is taken out of Debian's packages."""
        if self._compose_version() >= COMPOSE and self._has("buildx"):
            return
        root = self.base_folder()
        self.log.run(["chroot", root, "apt-get", "update", "--quiet"])
        plugins = Path(self.environment["DOCKER_CONFIG"]) / "cli-plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        for package in ("docker-compose", "docker-buildx"):
            self.log.run(["chroot", root, "sh", "-c", f"cd /tmp && apt-get download {package}"])
            archive = next((root / "tmp").glob(f"{package}_*.deb"))
            self.log.run(["dpkg-deb", "--extract", archive, self.work / "packages"])
            archive.unlink()
            shutil.copy(self.work / "packages" / "usr/libexec/docker/cli-plugins" / package, plugins / package)
        if self._compose_version() < COMPOSE:
            raise FailedError(f"Compose {COMPOSE[0]}.{COMPOSE[1]} or newer is not to be had.")

    def _compose_version(self) -> tuple[int, int]:
        done = self.log.run(["docker", "compose", "version", "--short"], environment=self.environment, may_fail=True)
        version = re.match(r"v?(\d+)\.(\d+)", done.stdout)
        return (int(version[1]), int(version[2])) if version and not done.returncode else (0, 0)

    def _has(self, plugin: str) -> bool:
        return not self.log.run(["docker", plugin, "version"], environment=self.environment, may_fail=True).returncode

    def base_folder(self) -> Path:
        """Debian in a folder, made once: the stand-ins stand on it, and packages come by it."""
        root = self.work / SUITE
        if not (root / "etc/debian_version").exists():
            self._install("debootstrap", "debootstrap")
            target = ["apt-get", "indextargets", "--format", "$(SITE) $(LABEL)", "Created-By: Packages"]
            lines = self.log.run(target).stdout.splitlines()
            mirror = next((line.split()[0] for line in lines if line.split()[1:] == ["Debian"]), None)
            if mirror is None:
                raise FailedError("No source of apt is Debian's own: run this on Debian.")
            self.log.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, root, mirror])
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        return root

    def import_base(self) -> str:
        root = self.base_folder()
        pack = subprocess.Popen(["tar", "--directory", root, "--create", "."], stdout=subprocess.PIPE)
        done = subprocess.run(
            ["docker", "import", "-", BASE],
            stdin=pack.stdout,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if pack.wait() or done.returncode:
            raise FailedError(f"The base cannot be imported: {done.stderr.strip()}")
        return BASE

    def docker(self, *arguments: str | Path, may_fail: bool = False, timeout_s: float = 900) -> str:
        command = ["docker", *map(str, arguments)]
        return self.log.run(command, environment=self.environment, may_fail=may_fail, timeout_s=timeout_s).stdout

    def stop(self) -> None:
        if self.process is not None:
            self._end()
            self.log.show("The engine that was started is ended.")

    def _end(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(START_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None


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
    """Have tools/deploy/pin write all images into .env of the trial; returns whether they are stand-ins.

    A stand-in has the name, the programs and the users of the image in whose place it is, not its files: see standins/.
    It is pushed to a registry of the trial's own, so that it is pinned by digest as the others are.
    """
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
