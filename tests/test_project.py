"""The project's table in pyproject.toml: one version, and one list of packages for pip, Make and the image."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from crosslens_metrics import __version__
from tests.servers import ROOT
from tests.sources import files_in

FILES = {
    "": "requirements.txt",
    "gpu": "requirements-gpu.txt",
    "java": "requirements-java.txt",
}
BY_HASH = ("requirements-demo.txt", "requirements-models.txt", "requirements-programs.txt")
BUILD = "from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare; prepare('.')"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What pip reads of the platform, made where it may leave files."""
    folder = tmp_path_factory.mktemp("platform")
    for name in ["pyproject.toml", "README.md", "LICENSE", "crosslens_metrics/__init__.py", *FILES.values()]:
        (folder / name).parent.mkdir(exist_ok=True)
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


@pytest.mark.parametrize("file", BY_HASH)
def test_packages_by_people_who_did_not_make_them_are_pinned_by_hash_and_in_no_other_file(file: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").replace(" \\\n", "").splitlines()
    pinned = [(above, line) for above, line in pairwise(lines) if line and not line.startswith("#")]
    others = [name for name in (*FILES.values(), "requirements-dev.txt", *BY_HASH) if name != file]
    elsewhere = "".join((ROOT / name).read_text(encoding="utf-8") for name in others)

    assert pinned
    for above, line in pinned:
        assert above, f"Say what {line} is, and who made and packaged it."
        found = re.fullmatch(r"([\w-]+==)[\w.]+( +--hash=sha256:[0-9a-f]{64})+", line)
        assert found, line
        assert found[1] not in elsewhere


@pytest.mark.parametrize("file", ["requirements-aligner.txt", "requirements-aligner-build.txt"])
def test_the_aligner_is_built_from_files_of_known_hashes(file: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").replace(" \\\n", "").splitlines()
    for line in lines:
        assert line.startswith("#") or re.fullmatch(r"[\w-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+", line), line


def test_the_versions_that_the_library_asks_for_are_those_of_the_platform() -> None:
    texts = [path.read_text(encoding="utf-8") for path in files_in("crosslens_metrics")]
    named = {name for text in texts for name in re.findall(r"pip install ([\w.]+==[\w.]*\w)", text)}
    assert {name.partition("==")[0] for name in named} >= {"choix", "gensim", "icu4py", "pycocoevalcap"}
    assert named <= {requirement for file in FILES.values() for requirement in required(ROOT / file)}


def test_the_platform_and_the_library_have_one_version(metadata: Message) -> None:
    assert metadata["Version"] == __version__
