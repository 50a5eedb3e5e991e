"""tools/deploy/*.lock: version and hashes of every package of the image: `python -m tools.scripts.lock`.

pip resolves them anew for the image's Python, on each kind of processor, whatever runs this; nothing is installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from config import ROOT

IMAGES = ROOT / "tools" / "deploy" / "images.env"
LOCK = "requirements.lock"
MORE = {"requirements-java.lock": "requirements/java.txt", "requirements-gpu.lock": "requirements/gpu.txt"}
"""What else an image may have. Each file holds only what the first has not."""

PROCESSORS = ("x86_64", "aarch64")
GLIBC = range(41, 16, -1)
"""Of Debian trixie, down to the oldest that wheels are made for."""

Packages = dict[str, str]
"""Names, as pip compares them, with their versions."""
Hashes = dict[str, set[str]]


def python_of_the_image() -> str:
    version = re.search(r"^PYTHON_IMAGE=python:(\d+\.\d+)", IMAGES.read_text(encoding="utf-8"), re.MULTILINE)
    if version is None:
        raise SystemExit(f"{IMAGES.name} names no Python.")
    return version[1]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())


def resolved(processor: str, *arguments: str) -> list[tuple[str, str, str]]:
    """Name, version and hash of the files that pip would install on `processor`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--target", folder, "--only-binary", ":all:"]
        command += ["--python-version", python_of_the_image()]
        for minor in GLIBC:
            command += ["--platform", f"manylinux_2_{minor}_{processor}"]
        command += ["--platform", f"manylinux2014_{processor}", *arguments]
        subprocess.run(command, cwd=ROOT, check=True)
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [
        (
            plain(each["metadata"]["name"]),
            each["metadata"]["version"],
            each["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for each in installs
    ]


def merge(installs: Sequence[tuple[str, str, str]], packages: Packages, hashes: Hashes) -> None:
    for name, version, digest in installs:
        if packages.setdefault(name, version) != version:
            raise SystemExit(f"{name} is {version} on one processor and {packages[name]} on another: pin it.")
        hashes[name].add(digest)


def write(name: str, packages: Packages, hashes: Hashes) -> None:
    lines = [f"# Made by python -m tools.scripts.lock for Python {python_of_the_image()}; see Dockerfile."]
    for package, version in sorted(packages.items()):
        known = "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted(hashes[package]))
        lines.append(f"{package}=={version}{known}")
    (ROOT / "tools" / "deploy" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"tools/deploy/{name}: {len(packages)} packages\n")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    packages: Packages = {}
    hashes: Hashes = defaultdict(set)
    for processor in PROCESSORS:
        merge(resolved(processor, "-r", "requirements.txt"), packages, hashes)
    write(LOCK, packages, hashes)
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in packages.items()), encoding="utf-8")
        for lock, requirements in MORE.items():
            more: Packages = {}
            for processor in PROCESSORS:
                both = ("-r", "requirements.txt", "-r", requirements, "-c", str(constraints))
                merge(resolved(processor, *both), more, hashes)
            write(lock, {name: more[name] for name in more.keys() - packages.keys()}, hashes)


if __name__ == "__main__":
    main()
