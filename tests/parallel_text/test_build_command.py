"""`build_corpus` from files: as a user runs it, and as it goes on after `kill -9`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from parallel_text.building import STEP_NAMES
from parallel_text.publish import PUBLISHED
from tests.commands import output_of
from tests.parallel_text.animals import NOUNS, SYNSETS, made_config
from tests.servers import ROOT

WAIT_S = 60.0


@pytest.fixture
def config(tmp_path) -> Path:
    (tmp_path / "pictures").mkdir()
    for noun in NOUNS:
        (tmp_path / "pictures" / f"{noun}.jpg").write_bytes(b"x")
    return made_config(tmp_path)


def published(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in PUBLISHED}


def test_a_corpus_is_built_from_files_and_only_what_changed_is_built_again(config, tmp_path, capsys):
    out = tmp_path / 'it\'s n=3 [x] "كتاب"'
    call_command("build_corpus", str(config), out=out, for_programs=True)

    statistics = json.loads(capsys.readouterr().out)
    assert (statistics["instances"], statistics["nouns"]) == (60, 6)
    assert statistics["table_1"] == {"en": {"1": 30}, "es": {"1": 30}}
    assert statistics["made_by"]["candidates"]["settings"]["threshold"] == 500
    instances = [json.loads(line) for line in (out / "instances.jsonl").read_text().splitlines()]
    assert {(one["word"], one["languages"]["es"], *one["synsets"], one["n"]) for one in instances} == {
        (noun, word, SYNSETS[noun], 1) for noun, word in NOUNS.items()
    }
    assert all(one["sentence"][one["start"] :].startswith(one["word"]) for one in instances)

    config.write_text(config.read_text() + '[exclude]\nfile = "exclusions.csv"\n')
    (tmp_path / "exclusions.csv").write_text("word,synset,image,reason\ndog,,,No animals\n")
    call_command("build_corpus", str(config), out=out)
    assert capsys.readouterr().err.count("done before") == STEP_NAMES.index("intersect")
    assert b'"dog"' not in (out / "instances.jsonl").read_bytes()
    assert "Illustrated words: 50, of 5 nouns" in output_of("corpus_statistics", out)
    with pytest.raises(CommandError, match=r"has no statistics\.json"):
        call_command("corpus_statistics", str(tmp_path))


def test_what_cannot_be_built_is_refused_with_what_to_do(config, tmp_path):
    def refusal(**options: object) -> str:
        with pytest.raises(CommandError) as refused:
            call_command("build_corpus", str(config), out=tmp_path / "out", **options)
        return str(refused.value)

    assert "--again needs --step" in refusal(again=True)
    assert "--workers needs a number from 1" in refusal(workers=0)
    assert "publish needs ingest, which is not up to date" in refusal(step=["publish"])
    (tmp_path / "senses.es.tsv").unlink()
    assert "senses.es.tsv cannot be read: No such file or directory" in refusal()
    (tmp_path / "senses.es.tsv").write_text("bn:00000001n\tperro\n")
    assert "senses.es.tsv has no synset in common with the English inventory" in refusal()


@pytest.mark.process
@pytest.mark.long(reason="a process is started for each step")
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_in_each_step_it_goes_on_and_the_files_are_the_same_bytes(config, tmp_path, workers):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    call_command("build_corpus", str(config), out=undisturbed)
    command = [sys.executable, "manage.py", "build_corpus", str(config), "--out", str(killed)]
    command += ["--workers", str(workers)]

    for step in STEP_NAMES:
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + WAIT_S
        while not (killed / "steps" / f"{step}.begun").exists():
            assert process.poll() is None and time.monotonic() < until, step  # noqa: PT018
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (killed / "steps" / "publish.json").exists() or step == "publish"

    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert published(killed) == published(undisturbed)
    assert not list(killed.rglob(".partial-*"))
