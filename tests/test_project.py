"""The project's table in pyproject.toml: one version, and one list of packages for pip, Make and the image."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from core.jobs.rules.missing_packages import EXTRAS
from crosslens_metrics import __version__
from tests.servers import ROOT

FILES = {
    "": ("platform.txt",),
    "research": ("research.txt",),
    "game": ("research.txt", "game.txt"),
    "server": ("server.txt",),
    "gpu": ("gpu.txt",),
    "java": ("java.txt",),
}
"""The files of `requirements/` that each extra installs."""
REQUIREMENTS = sorted({f"requirements/{name}" for names in FILES.values() for name in names})
BUILD = "from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare; prepare('.')"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What pip reads of the platform, made where it may leave files."""
    folder = tmp_path_factory.mktemp("platform")
    for name in ["pyproject.toml", "README.md", "LICENSE", "libs/crosslens_metrics/__init__.py", *REQUIREMENTS]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True, timeout=60)
    (made,) = folder.glob("*.dist-info/METADATA")
    return Parser().parsestr(made.read_text(encoding="utf-8"))


def required(file: Path) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return {str(Requirement(line)) for line in lines if line}


@pytest.mark.parametrize("extra", FILES)
def test_what_pip_installs_is_what_make_installs_and_the_image_locks(metadata: Message, extra: str) -> None:
    marker = f' ; extra == "{extra}"' if extra else ""
    files = [ROOT / "requirements" / name for name in FILES[extra]]
    listed = {str(Requirement(line + marker)) for file in files for line in required(file)}
    declared = {str(Requirement(line)) for line in metadata.get_all("Requires-Dist", [])}

    assert listed <= declared
    assert sum(f'extra == "{extra}"' in line if extra else "extra ==" not in line for line in declared) == len(listed)


def test_what_an_installation_may_lack_names_the_extra_that_brings_it() -> None:
    named = {"ot": "POT", "storages": "django-storages"}
    for package, extra in EXTRAS.items():
        lines = (ROOT / "requirements" / f"{extra}.txt").read_text(encoding="utf-8")
        assert re.search(rf"^{named.get(package, package)}\b", lines, re.MULTILINE), package


def test_the_platform_and_the_library_have_one_version(metadata: Message) -> None:
    assert metadata["Version"] == __version__
