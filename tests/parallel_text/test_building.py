"""Steps are skipped where they are done, built again from the first change on, and continued where they were killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from parallel_text import building
from parallel_text.building import STEP_NAMES, build, done_step, work_in
from parallel_text.config import CandidateSettings, CorpusConfig, ImageSettings, Inventory, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.publish import PUBLISHED
from parallel_text.steps import PARTIAL, CorpusFolder, StepReport, building_in
from tests.commands import output_of
from tests.parallel_text.animals import NOUNS, SYNSETS, made_config
from tests.servers import ROOT

CONFIG = CorpusConfig(
    name="letters",
    texts=(Text("es", "tsv", ("text.tsv",)),),
    inventories=(Inventory("en", "en.tsv"), Inventory("es", "es.tsv")),
    candidates=CandidateSettings(ratings="ratings.csv"),
    workers=1,
)


@dataclass
class Letters:
    """A step that writes each letter of its text to a part, and joins them."""

    name: str
    needs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    version: int = 1
    fails_at: str = ""

    def settings(self, config):
        return {"seed": config.seed} if not self.needs else {}

    def files(self, config):
        return list(self.reads)

    def chunks(self, work):
        return sorted(work.input("text.tsv").read_text())

    def run_chunk(self, work, chunk):
        if chunk == self.fails_at:
            raise CorpusError(f"no {chunk}")
        with work.folder.writing(f"{self.name}/{chunk}") as path:
            path.write_text(chunk)

    def is_written(self, work, chunk):
        return f"{self.name}/{chunk}" in work.folder.names(f"{self.name}/")

    def finish(self, work):
        names = work.folder.names(f"{self.name}/")
        problems = LineProblems()
        problems.add("odd", "This line is odd.", file="text.tsv", line=3)
        return StepReport({"letters": len(names)}, problems, {"pen": "1.0"})


@pytest.fixture
def steps(monkeypatch):
    made = {"first": Letters("first", reads=("text.tsv",)), "second": Letters("second", needs=("first",))}
    monkeypatch.setattr(building, "STEP_NAMES", tuple(made))
    monkeypatch.setattr(building, "step_named", made.__getitem__)
    return made


@pytest.fixture
def base(tmp_path):
    (tmp_path / "text.tsv").write_text("abc")
    return tmp_path


def run(base: Path, config: CorpusConfig = CONFIG, *, again: bool = False) -> list[str]:
    lines: list[str] = []
    out = base / "out"
    build(work_in(out, config, base=base), steps=vars(building)["STEP_NAMES"], announce=lines.append, again=again)
    return lines


def test_what_is_done_is_skipped_until_something_it_depends_on_changes(base, steps):
    assert run(base)[-1].startswith("second: done in")
    record = done_step(CorpusFolder(base / "out"), "first")
    assert (record.counts, record.tools, record.settings) == ({"letters": 3}, {"pen": "1.0"}, {"seed": 0})
    assert record.problems.as_json()[0]["examples"] == [{"message": "This line is odd.", "file": "text.tsv", "line": 3}]
    assert run(base) == ["first: done before", "second: done before"]

    steps["second"].version = 2
    assert [line.split(":")[1] for line in run(base)][:2] == [" done before", " 1 of 3 (a)"]

    (base / "text.tsv").write_text("abcd")
    assert {"first: 4 of 4 (d)", "second: 4 of 4 (d)"} <= set(run(base))

    assert "first: 1 of 4 (a)" in run(base, replace(CONFIG, seed=1))
    assert "second: 1 of 4 (a)" in run(base, replace(CONFIG, seed=1), again=True)


def test_a_step_that_fails_keeps_its_parts_and_goes_on_where_it_stopped(base, steps):
    steps["first"].fails_at = "c"
    with pytest.raises(CorpusError, match="no c"):
        run(base)
    assert done_step(CorpusFolder(base / "out"), "first") is None
    steps["first"].fails_at = ""
    assert run(base)[0] == "first: 3 of 3 (c)"


def test_parts_of_other_settings_are_not_taken_for_those_of_these(base, steps):
    steps["first"].fails_at = "c"
    with pytest.raises(CorpusError):
        run(base)
    steps["first"].fails_at = ""
    assert run(base, replace(CONFIG, seed=1))[0] == "first: 1 of 3 (a)"


def test_a_step_alone_needs_those_before_it_to_be_up_to_date(base, steps):
    with pytest.raises(CorpusError, match="second needs first, which is not up to date"):
        build(work_in(base / "out", CONFIG, base=base), steps=["second"])
    (base / "text.tsv").unlink()
    with pytest.raises(CorpusError, match=r"text\.tsv cannot be read: No such file"):
        run(base)


def test_a_folder_is_known_by_what_its_files_hold(base, steps):
    """Other word vectors of the same shape have the same names and sizes."""
    vectors = base / "vectors"
    (vectors / "deep").mkdir(parents=True)
    (vectors / "deep" / "matrix.npy").write_bytes(b"1234")
    (vectors / "words\udcff").write_bytes(b"ab")
    first = building.sha256_of(vectors)
    steps["second"].reads = ("vectors",)
    run(base)
    assert run(base) == ["first: done before", "second: done before"]

    (vectors / "deep" / "matrix.npy").write_bytes(b"1235")
    assert building.sha256_of(vectors) != first
    assert "second: 1 of 3 (a)" in run(base)

    (vectors / "deep" / "matrix.npy").write_bytes(b"1234")
    assert building.sha256_of(vectors) == first
    (vectors / "words\udcff").rename(vectors / "deep" / "words")
    assert building.sha256_of(vectors) != first


def test_of_the_folder_of_images_only_names_and_sizes_are_read(base, steps):
    (base / "images").mkdir()
    image = base / "images" / "a.jpg"
    image.write_bytes(b"1234")
    steps["second"].reads = ("images",)
    config = replace(CONFIG, images=ImageSettings(manifest="images.jsonl", folder="images"))
    run(base, config)
    image.write_bytes(b"4321")
    assert run(base, config)[1] == "second: done before"
    image.rename(base / "images" / "b.jpg")
    assert "second: 1 of 3 (a)" in run(base, config)


def test_a_file_has_its_name_whole_or_not_at_all(tmp_path):
    folder = CorpusFolder(tmp_path)
    with suppress(ZeroDivisionError), folder.writing("a/b") as path:
        path.write_text("half")
        raise ZeroDivisionError
    assert folder.names("") == [] == list((tmp_path / "a").iterdir())
    (tmp_path / "a" / f"{PARTIAL}x-b").write_text("of a killed process")
    assert folder.names("a/") == []
    with building_in(tmp_path):
        assert not (tmp_path / "a" / f"{PARTIAL}x-b").exists()
        with pytest.raises(CorpusError, match="Another program is building"), building_in(tmp_path):
            pass


@pytest.mark.process
def test_workers_end_with_a_builder_that_is_killed(tmp_path):
    code = """
        import sys, time
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context
        import os
        from parallel_text.building import _end_with
        if __name__ == "__main__":
            context = get_context("spawn")
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))
            print(pool.submit(os.getpid).result(), flush=True)
            time.sleep(60)
    """
    script = tmp_path / "builder.py"
    script.write_text(textwrap.dedent(code))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "libs")}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment) as builder:
        worker = int(builder.stdout.readline())
        builder.send_signal(signal.SIGKILL)
    until = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_problems_are_counted_and_the_first_of_each_kind_kept():
    problems = LineProblems()
    for line in range(30):
        problems.add("empty_side", "This side is empty.", file="x.tsv", line=line + 1)
    other = LineProblems.from_json(json.loads(json.dumps(problems.as_json())))
    assert other == problems
    problems.merge(other)
    [entry] = problems.as_json()
    assert (entry["count"], len(entry["examples"]), entry["examples"][-1]["line"]) == (60, 20, 20)


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
