"""Packages: hashes where they are needed, one file for each, locks that agree, and versions that the library names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from packaging.requirements import Requirement

from tools.scripts.checks.image import version_of
from tools.scripts.checks.sources import TextFinding, files_in, quoted, text_of, unless

LOCK_OF_ALL = "tools/deploy/requirements.lock"
LOCKS = {
    "requirements/platform.txt": LOCK_OF_ALL,
    "requirements/research.txt": LOCK_OF_ALL,
    "requirements/game.txt": LOCK_OF_ALL,
    "requirements/server.txt": LOCK_OF_ALL,
    "requirements/java.txt": "tools/deploy/requirements-java.lock",
    "requirements/gpu.txt": "tools/deploy/requirements-gpu.lock",
}
BY_HASH = ("requirements/demo.txt", "requirements/models.txt", "requirements/programs.txt")
"""Packages by people who did not make what is in them."""
ALIGNER = ("requirements/aligner.txt", "requirements/aligner-build.txt")
HASHED = re.compile(r"([\w-]+==)[\w.]+( +--hash=sha256:[0-9a-f]{64})+")
HASH = "pin it by version and --hash=sha256:…"
LOCK = "run python -m tools.scripts.lock"


def check() -> Iterator[TextFinding]:
    for file in (*BY_HASH, *ALIGNER):
        yield from hashes(file)
    for requirements, lock in LOCKS.items():
        yield from locks(requirements, lock)
    yield from versions()


def hashes(file: str) -> Iterator[TextFinding]:
    lines = text_of(file).replace(" \\\n", "").splitlines()
    names = [name for name in (*LOCKS, "requirements/dev.txt", *BY_HASH) if name != file]
    for above, line in pairwise(["", *lines]):
        if not line or line.startswith("#"):
            continue
        found = HASHED.fullmatch(line)
        package = line.split()[0]
        yield from unless(found, file, package, f"“{package}” has no hash", HASH)
        if file in BY_HASH:
            yield from unless(
                above, file, package, f"nothing is said of {package}", "say who made and packaged it above it"
            )
            for other in names:
                elsewhere = found and found[1] in text_of(other)
                where = package.partition("==")[0]
                yield from unless(not elsewhere, other, where, f"{where} is in {file} too", "keep it in one file")


def locked(lock: str) -> dict[str, str]:
    """The version of each package, with its hashes."""
    pattern = r"^([\w.-]+)==(\S+)(?: \\\n    --hash=sha256:[0-9a-f]{64})+$"
    return dict(re.findall(pattern, text_of(lock), re.MULTILINE))


def locks(requirements: str, lock: str) -> Iterator[TextFinding]:
    whole = locked(LOCK_OF_ALL)
    known = whole | locked(lock)
    for name, version in re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", text_of(requirements), re.MULTILINE):
        plain = re.sub(r"[-_.]+", "-", name.lower())
        yield from unless(known.get(plain) == version, requirements, name, f"{lock} has not {name} {version}", LOCK)
    for match in re.finditer(r"^([\w.-]+)==.*", text_of(lock), re.MULTILINE):
        yield from unless(match[1] in locked(lock), lock, match, f"{match[1]} has no hash", LOCK)
        is_twice = lock != LOCK_OF_ALL and match[1] in whole
        yield from unless(not is_twice, lock, match, f"{match[1]} is in two locks", LOCK)
    python = f" for Python {version_of('PYTHON')};"
    yield from unless(python in text_of(lock).splitlines()[0], lock, 1, f"not{python.rstrip(';')}, as the image", LOCK)


def versions() -> Iterator[TextFinding]:
    """What the library says to install is what the platform installs, and PyTorch and torchvision belong together."""
    lines = re.findall(r"^([^#\n]*\w)", "\n".join(map(text_of, LOCKS)), re.MULTILINE)
    ours, named = {str(Requirement(line)) for line in lines}, set()
    for path in files_in("libs/crosslens_metrics"):
        for match in re.finditer(r"pip install ([\w.]+==[\w.]*\w)", text_of(path)):
            named.add(match[1].partition("==")[0])
            yield from unless(match[1] in ours, path, match, f"the platform has another {match[1]}", "name its version")
    missing = {"choix", "gensim", "icu4py", "pycocoevalcap"} - named
    library = "libs/crosslens_metrics/__init__.py"
    yield from unless(
        not missing, library, 1, f"nothing says how to install {quoted(missing)}", "say it where it is used"
    )
    gpu = "requirements/gpu.txt"
    torch, vision = (int(minor) for minor in re.findall(r"^torch(?:vision)?==\d+\.(\d+)\.", text_of(gpu), re.MULTILINE))
    yield from unless(
        vision == torch + 15, gpu, "torchvision==", "it asks for another PyTorch", "take the one for this"
    )
