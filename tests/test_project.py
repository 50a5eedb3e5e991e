"""The project's table in pyproject.toml: one version, and one list of packages for pip, Make and the image."""

from __future__ import annotations

import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from crosslens_metrics import __version__
from tests.servers import ROOT

FILES = {
    "": "requirements.txt",
    "gpu": "requirements/gpu.txt",
    "java": "requirements/java.txt",
}
BUILD = "from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare; prepare('.')"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What pip reads of the platform, made where it may leave files."""
    folder = tmp_path_factory.mktemp("platform")
    for name in ["pyproject.toml", "README.md", "LICENSE", "libs/crosslens_metrics/__init__.py", *FILES.values()]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True, timeout=60)
    (made,) = folder.glob("*.dist-info/METADATA")
    return Parser().parsestr(made.read_text(encoding="utf-8"))


def required(file: Path) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return {str(Requirement(line)) for line in lines if line}


@pytest.mark.parametrize(("extra", "file"), FILES.items())
def test_what_pip_installs_is_what_make_installs_and_the_image_locks(metadata: Message, extra: str, file: str) -> None:
    marker = f' ; extra == "{extra}"' if extra else ""
    listed = {str(Requirement(line + marker)) for line in required(ROOT / file)}
    declared = {str(Requirement(line)) for line in metadata.get_all("Requires-Dist", [])}

    assert listed <= declared
    assert len(declared) == sum(len(required(ROOT / name)) for name in FILES.values())


def test_the_platform_and_the_library_have_one_version(metadata: Message) -> None:
    assert metadata["Version"] == __version__
