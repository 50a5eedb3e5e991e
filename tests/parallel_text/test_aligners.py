"""Aligners are programs that may be missing, fail or write nonsense."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parallel_text.align import MAX_SENTENCE_TOKENS, WordAligner, find_aligner
from parallel_text.problems import CorpusError
from tests.parallel_text.aligner import aligner_made_of, eflomal
from tests.servers import ROOT

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
