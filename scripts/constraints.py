"""deploy/constraints.txt: the exact version of every package of the image: `python -m scripts.constraints`.

pip resolves them anew for the image's Python, whatever runs this; nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "deploy" / "constraints.txt"
REQUIREMENTS = ("requirements.txt", "requirements-java.txt")
"""PyTorch names exact versions of what it needs itself."""

PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def python_of_the_image() -> str:
    found = re.search(r"^FROM python:(\d+\.\d+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit("Dockerfile names no Python.")
    return found[1]


def resolved(folder: Path) -> list[str]:
    report = folder / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--report", str(report), "--target", str(folder), "--only-binary", ":all:"]
    command += ["--python-version", python_of_the_image()]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    for requirements in REQUIREMENTS:
        command += ["-r", requirements]
    subprocess.run(command, cwd=ROOT, check=True)
    found = json.loads(report.read_text(encoding="utf-8"))["install"]
    return sorted(f"{each['metadata']['name'].lower()}=={each['metadata']['version']}" for each in found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = resolved(Path(folder))
    head = f"# Made by python -m scripts.constraints for Python {python_of_the_image()}; see Dockerfile.\n"
    CONSTRAINTS.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{CONSTRAINTS.name}: {len(lines)} packages\n")


if __name__ == "__main__":
    main()
