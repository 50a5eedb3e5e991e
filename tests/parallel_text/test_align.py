"""Pairs are aligned part by part with the English tokens of their sentences."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parallel_text.align import MAX_SENTENCE_TOKENS, PROGRAMS, STEP, WordAligner, find_aligner
from parallel_text.problems import CorpusError
from tests.parallel_text.made import rows, run, work_with, write
from tests.servers import ROOT


def aligner_made_of(folder: Path, script: str, kind: str = "eflomal") -> WordAligner:
    """Write a shell script under the name of an aligner."""
    path = folder / "bin" / PROGRAMS[kind]
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return WordAligner(kind, path)


def eflomal() -> WordAligner:
    """Return the eflomal of this machine, or skip the test."""
    try:
        return find_aligner("eflomal")
    except CorpusError as error:
        pytest.skip(str(error))


FIRST_WORDS = "sed 's/[0-9][0-9]* *.*/0-0/' $2 > $6; cp $6 $8"


@pytest.fixture
def work(tmp_path):
    aligner = aligner_made_of(tmp_path, f"cp $2 $4 {tmp_path}; {FIRST_WORDS}")
    work = work_with(tmp_path, "fr", "pt-BR", aligner=str(aligner.path))
    write(work, "ingest/english/00000.parquet", {"sentence": [0, 1], "text": ["The seal", "the Seal."]})
    write(work, "ingest/english/00001.parquet", {"sentence": [2], "text": ["A seal"]})
    pairs = {"pair": [1, 0, 2], "sentence": [1, 0, 1], "text": ["L’Otarie", "Le phoque !", "?"]}
    write(work, "ingest/pairs.fr/00000.parquet", pairs)
    write(work, "ingest/pairs.pt-BR/00001.parquet", {"pair": [0], "sentence": [2], "text": ["uma foca"]})
    return work


def test_each_language_and_file_is_a_part_and_its_words_are_compared_in_lower_case(work, tmp_path):
    assert STEP.chunks(work) == ["fr-00000", "pt-BR-00001"]
    assert not STEP.is_written(work, "fr-00000")
    STEP.run_chunk(work, "fr-00000")

    assert STEP.is_written(work, "fr-00000")
    assert not STEP.is_written(work, "pt-BR-00001")
    # "the seal", "the seal .", and again for the pair that has one word: "?" is a token.
    assert (tmp_path / "source").read_text() == "0 1\n0 1 2\n0 1 2\n"
    assert (tmp_path / "target").read_text() == "0 1 2\n3 4\n5\n"


@pytest.mark.long(reason="at least three others run each of its lines")
def test_links_are_places_among_the_tokens_of_both_sides(work):
    report = run(STEP, work)

    links = {"english_positions": [0], "positions": [0]}
    assert rows(work, "align/fr/00000.parquet") == [
        {"pair": 0, "sentence": 0, "words": ["Le", "phoque", "!"], **links},
        {"pair": 1, "sentence": 1, "words": ["L’", "Otarie"], **links},
        {"pair": 2, "sentence": 1, "words": ["?"], **links},
    ]
    assert report.tools == {"eflomal": "unknown version, takes no seed", "words": "1"}
    assert report.counts["languages"]["fr"] == {"pairs": 3, "tokens": 6, "links": 3, "unaligned": 0}
    assert (report.counts["pairs"], report.counts["links"]) == (4, 4)


def test_an_aligner_that_fails_leaves_the_part_to_be_run_again(work, tmp_path):
    aligner_made_of(tmp_path, "echo broken >&2; exit 3")
    with pytest.raises(CorpusError, match=r"exit code 3.*broken"):
        STEP.run_chunk(work, "pt-BR-00001")
    assert not STEP.is_written(work, "pt-BR-00001")
    assert work.folder.names("align/") == []

    aligner_made_of(tmp_path, FIRST_WORDS)
    STEP.run_chunk(work, "pt-BR-00001")
    assert STEP.is_written(work, "pt-BR-00001")


def test_without_an_aligner_no_part_begins(work, tmp_path):
    (tmp_path / "bin" / "eflomal-align").unlink()
    with pytest.raises(CorpusError, match=r"There is no program .*eflomal-align"):
        STEP.chunks(work)


def test_pairs_too_long_to_be_aligned_are_named(work):
    texts = ["uma " * 1024, "uma foca"]
    write(work, "ingest/pairs.pt-BR/00001.parquet", {"pair": [7, 8], "sentence": [2, 2], "text": texts})
    STEP.run_chunk(work, "pt-BR-00001")
    write(work, "align/fr/00000.parquet", {"pair": [0], "sentence": [0], "words": [["a"]], "positions": [[0]]})

    problems = STEP.finish(work).problems
    assert problems.counts == {"too_long": 1}
    assert problems.examples["too_long"][0].message == "Pair 7 has 1024 words in pt-BR and was not aligned."


PAIRS = [
    (["the", "|||", "seal"], ["la", "foca", "."]),
    (["nothing"], []),
    (["a", "a\u00a0b", "\u2028"], ["un", "sello"]),
    (["long"] * (MAX_SENTENCE_TOKENS + 1), ["largo"]),
]
# What they are as numbers: each side has its own, and neither the second nor the fourth pair is there.
SOURCES, TARGETS = "0 1 2\n3 4 5\n", "0 1 2\n3 4\n"
FORWARD, REVERSE = r"0-0 1-1 2-1\n0-0 1-1\n", r"0-0 2-1 2-2\n1-1 2-1\n"
BOTH_WAYS = [[(0, 0), (2, 1)], [], [(1, 1)], []]


@pytest.fixture
def scratch(tmp_path):
    return tmp_path / "scratch"


@pytest.fixture(autouse=True)
def nowhere(request, monkeypatch, tmp_path):
    """No aligner of this machine, except for tests of the real one."""
    if "real" not in request.node.name:
        monkeypatch.delenv("CROSSLENS_ALIGNER", raising=False)
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setattr(sys, "prefix", str(tmp_path))


def test_links_of_both_directions_are_kept_and_pairs_without_words_move_no_others(tmp_path, scratch):
    saved = tmp_path / "saved"
    script = f"cat $2 $4 > {saved}; printf '{FORWARD}' > $6; printf '{REVERSE}' > $8"

    assert aligner_made_of(tmp_path, script).links(PAIRS, scratch=scratch) == BOTH_WAYS
    assert saved.read_text() == SOURCES + TARGETS
    assert list(scratch.iterdir()) == []


def test_fast_align_gets_both_sides_in_a_line_and_runs_once_for_each_direction(tmp_path, scratch):
    saved = tmp_path / "saved"
    script = f"cat $2 > {saved}; if [ \"$6\" = -r ]; then printf '{REVERSE}'; else printf '{FORWARD}'; fi"

    aligner = aligner_made_of(tmp_path, script, "fast_align")
    assert aligner.links(PAIRS, scratch=scratch) == BOTH_WAYS
    assert saved.read_text() == "0 1 2 ||| 0 1 2\n3 4 5 ||| 3 4\n"


def test_no_program_runs_where_there_is_nothing_to_align(tmp_path, scratch):
    assert aligner_made_of(tmp_path, "exit 1").links([([], ["a"])], scratch=scratch) == [[]]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no memory >&2; exit 3", r"eflomal-align failed: exit code 3\. It wrote: no memory"),
        ("kill -9 $$", "it was killed by SIGKILL"),
        ("kill -SEGV $$", "it was killed by SIGSEGV"),
        ("true", "it wrote no links"),
        ("printf '0-0\\n' > $6; cp $6 $8", "it wrote 1 lines for 2 pairs"),
        ("printf '0-0\\n0-0\\n0-0\\n' > $6; cp $6 $8", "it wrote 3 lines for 2 pairs"),
        ("printf '0-0\\n0-' > $6; cp $6 $8", "it wrote 1 lines"),
        (f"printf '{FORWARD}' > $6; printf '0-0\\n0-2\\n' > $8", "its line 2 has 0-2, of sentences of 3 and 2 words"),
        ("printf '0-0\\nx-1\\n' > $6; cp $6 $8", "its line 2 has x-1"),
    ],
)
def test_an_aligner_that_fails_is_named_with_how_it_ended_and_leaves_nothing(tmp_path, scratch, script, message):
    with pytest.raises(CorpusError, match=message):
        aligner_made_of(tmp_path, script).links(PAIRS, scratch=scratch)
    assert list(scratch.iterdir()) == []


def test_an_aligner_ends_with_a_builder_that_is_killed(tmp_path):
    # As eflomal does, it leaves the work to a program of its own.
    aligner_made_of(tmp_path, f"sleep 60 & echo $! > {tmp_path}/pid; wait")
    code = (
        "from pathlib import Path; from parallel_text.align import find_aligner;"
        f"find_aligner('{tmp_path}/bin/eflomal-align').links([(['a'], ['b'])], scratch=Path('{tmp_path}/scratch'))"
    )
    builder = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT / "libs")
    deadline = time.monotonic() + 20
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        builder.send_signal(signal.SIGKILL)
        builder.wait()
    while is_running(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        # Where nobody asks for its exit code it stays as a name.
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_an_aligner_is_found_by_name_path_variable_and_beside_python(tmp_path, monkeypatch):
    with pytest.raises(CorpusError, match=r"No word aligner is installed\..*pip install eflomal==2\.0\.0.*fast_align"):
        find_aligner()
    fast = aligner_made_of(tmp_path, "", "fast_align")
    assert find_aligner(str(fast.path)) == fast
    monkeypatch.setenv("PATH", str(fast.path.parent))
    assert find_aligner() == find_aligner("fast_align") == fast
    with pytest.raises(CorpusError, match="eflomal, which aligns words, is not installed"):
        find_aligner("eflomal")

    (tmp_path / "aligner").mkdir()
    beside = aligner_made_of(tmp_path / "aligner", "")
    assert find_aligner() == find_aligner("eflomal") == beside
    monkeypatch.setenv("CROSSLENS_ALIGNER", "fast_align")
    assert (find_aligner(), find_aligner("eflomal")) == (fast, beside)

    (tmp_path / "other").mkdir()
    other = aligner_made_of(tmp_path / "other", "")
    monkeypatch.setenv("CROSSLENS_ALIGNER", str(other.path))
    assert find_aligner() == find_aligner("eflomal") == other
    assert find_aligner("fast_align") == fast


@pytest.mark.parametrize("program", ["/bin/sh", "giza", "/nowhere/eflomal-align"])
def test_other_programs_are_refused(program):
    with pytest.raises(CorpusError, match=f"{program} is not a known word aligner|There is no program {program}"):
        find_aligner(program)


def test_versions_say_whether_the_links_are_always_the_same(tmp_path):
    aligner = aligner_made_of(tmp_path, "")
    assert aligner.version == "unknown version, takes no seed"
    (tmp_path / "lib" / "python3.11" / "site-packages" / "eflomal-2.0.0.dist-info").mkdir(parents=True)
    assert aligner.version == "2.0.0, takes no seed"
    assert WordAligner("fast_align", Path("fast_align")).version == "always the same links"


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.process
def test_the_real_eflomal_finds_nine_of_ten_words_of_a_made_language(scratch):
    random_ = random.Random(1)
    vocabulary = [f"w{number}" for number in range(200)]
    pairs = []
    for _number in range(500):
        source = random_.sample(vocabulary, random_.randint(3, 9))
        target = [f"v{word}" for word in source]
        if random_.random() < 0.3:
            target = target[1:] + target[:1]
        pairs.append((source, target))

    found = eflomal().links(pairs, scratch=scratch)

    right = sum(
        f"v{pair[0][one]}" == pair[1][other] for pair, of in zip(pairs, found, strict=True) for one, other in of
    )
    assert right >= 0.9 * sum(map(len, found))
    assert right >= 0.9 * sum(len(source) for source, _target in pairs)
