"""The library as others install it: a wheel, with nothing but numpy and scipy, and the commands of `manage.py`."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from crosslens_metrics import __version__
from crosslens_metrics.commands.main import COMMANDS, main
from tests.commands import run_python
from tests.metrics.test_library_alone import ALONE
from tests.servers import ROOT

pytestmark = pytest.mark.process

CASES = [
    ["caption_stats", "xm3600.jsonl"],
    ["caption_stats", "xm3600.jsonl", "--json"],
    ["correlate", "table.csv", "--human", "people", "--metric", "CIDEr", "flat", "--group", "language=de"],
    ["correlate", "table.csv", "--human", "people", "--metric", "CIDEr", "--no-intervals", "--no-flip", "--json"],
    ["document_frequencies", "references.jsonl", "frequencies.npz"],
    ["rank_metrics", "ranks.csv", "--proposed", "WCC", "CMedRel", "--standard", "CIDEr", "--sums"],
    ["rank_metrics", "ranks.csv", "--proposed", "WCC", "--standard", "CIDEr", "--ties", "competition", "--json"],
    ["score_captions", "candidates.jsonl", "references.jsonl", "--per-image"],
    ["score_captions", "candidates.jsonl", "references.jsonl", "--metrics", "bleu-2,cider-d", "--normalise", "--json"],
    ["sxs_report", "judgements.csv", "--resamples", "200"],
    ["sxs_report", "judgements.csv", "--resamples", "200", "--seed", "-3", "--json"],
]
FILES = {
    "xm3600.jsonl": '{"image/key": "a", "en": {"caption": ["A dog.", "Two dogs run"]}, "fr": {"caption": ["Été"]}}\n',
    "table.csv": "language,people,CIDEr,flat\nde,12.5,0.3,1\nfr,-4,0.1,1\nde,8,-0.2,1\nhi,1,0.05,1\n",
    "ranks.csv": "model,WCC,CMedRel,CIDEr\nA,1.5,0.2,90\nB,2.5,0.1,70.5\nC,1.5,0.4,80\n",
    "candidates.jsonl": '{"image": "2", "caption": "a dog running"}\n{"image": "10", "caption": ""}\n',
    "references.jsonl": '{"image": "10", "captions": ["két kutya", "dog"]}\n{"image": "2", "caption": "A dog runs."}\n',
    "judgements.csv": "comparison,image,rater,score,base_model,test_model,seconds\n"
    + "".join(
        f"{name},{image},{rater},{(image * 5 + rater * 3 + len(name)) % 7 - 3},old,new,{image + rater}.5\n"
        for name in ("de", "hi-1")
        for image in range(9)
        for rater in range(3)
    ),
}
EACH = """
import contextlib, io, json, sys
from crosslens_metrics.commands.main import main

done = []
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    done.append([status, out.getvalue(), err.getvalue()])
json.dump(done, sys.stdout)
"""
GENERATED = ("__pycache__", "build", "*.egg-info")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(ROOT / "libs" / "crosslens_metrics", folder / "source", ignore=shutil.ignore_patterns(*GENERATED))
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True, timeout=60)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def run_installed(site: Path, folder: Path, cases: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    """Exit status, output and errors of each command, where nothing but numpy and scipy can be imported."""
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n{ALONE}\n{EACH}"
    said = run_python("-c", code, cwd=folder, sent=json.dumps(cases))
    return [(status, out, err) for status, out, err in json.loads(said)]


@pytest.fixture(scope="module")
def installed(site: Path, folder: Path) -> dict[str, tuple[int, str, str]]:
    """What each of the cases says."""
    return dict(zip(map(" ".join, CASES), run_installed(site, folder, CASES), strict=True))


def run_here(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_wheel_holds_the_whole_package_its_types_and_its_command(site: Path) -> None:
    shipped = {str(path.relative_to(site)) for path in (site / "crosslens_metrics").rglob("*.*")}
    there = (ROOT / "libs" / "crosslens_metrics").rglob("*.py")
    written = {str(path.relative_to(ROOT / "libs")) for path in there if "build" not in path.parts}
    assert shipped == written | {"crosslens_metrics/py.typed"}

    (about,) = site.glob("crosslens_metrics-*.dist-info")
    assert about.name == f"crosslens_metrics-{__version__}.dist-info"
    scripts = ConfigParser()
    scripts.read(about / "entry_points.txt")
    assert dict(scripts["console_scripts"]) == {"crosslens-metrics": "crosslens_metrics.commands.main:main"}


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_an_installed_command_says_what_manage_py_says(
    installed: dict[str, tuple[int, str, str]], files: Path, arguments: list[str]
) -> None:
    status, *said = installed[" ".join(arguments)]

    assert tuple(said) == run_here(*arguments)
    assert status == 0
    assert said[0]


def test_every_command_is_compared() -> None:
    assert {command for command, *arguments in CASES} == set(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["caption_stats", "ranks.csv"],
        ["correlate", "table.csv", "--human", "people", "--metric", "BLEU"],
        ["document_frequencies", "none.jsonl", "frequencies.npz"],
        ["rank_metrics", "table.csv", "--proposed", "language", "--standard", "CIDEr"],
        ["score_captions", "candidates.jsonl", "xm3600.jsonl"],
        ["score_captions", "candidates.jsonl", "references.jsonl", "--metrics", "wmdrel"],
        ["sxs_report", "table.csv"],
    ],
    ids=" ".join,
)
def test_what_a_command_refuses_it_refuses_in_the_same_words(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(CommandError) as refused:
        run_here(*arguments)

    assert main(arguments) == 1
    assert capsys.readouterr() == ("", f"{refused.value}\n")


def test_what_needs_another_package_names_it(site: Path, files: Path) -> None:
    rows = [
        f"{test} on {base},{image},ann,{1 - image},{base},{test}\n"
        for base, test in (("a", "b"), ("b", "c"))
        for image in range(3)
    ]
    Path("three.csv").write_text("comparison,image,rater,score,base_model,test_model\n" + "".join(rows))
    Path("vectors.txt").write_text("dog 0.5 1\na 1 0.5\n")

    scored = ["score_captions", "candidates.jsonl", "references.jsonl", "--metrics", "wmdrel", "--vectors"]
    ranked = ["sxs_report", "three.csv", "--replication", "1", "--resamples", "100"]
    said = [err for _, _, err in run_installed(site, files, [ranked, [*scored, "vectors.txt"], [*scored, "glove"]])]

    assert "pip install choix==" in said[0]
    assert "pip install gensim==" in said[1]
    assert said[2] == "There is no file glove, nor the folder of a table.\n"
