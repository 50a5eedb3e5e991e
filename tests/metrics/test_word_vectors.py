"""Tables of word vectors: golden cosines, spellings, threads, and files that are not what they were."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.word_vectors import (
    MANIFEST,
    MATRIX,
    MAX_WORD_CHARACTERS,
    ROWS_AT_ONCE,
    WORDS,
    MalformedTableError,
    TableWriter,
    VectorError,
    VectorsManifest,
    check_table,
    cosine_similarity,
    open_table,
    spellings,
)
from tests.servers import ROOT

ANIMALS = {
    "cat": (1, 0),
    "dog": (1, 1),
    "Paris": (0, 2),
    "New_York": (3, 4),
    "no": (-1, 0),
    "USA": (1, 2),
    "straße": (2, 1),
}


def write(folder: Path, words: dict[str, Any] | list[tuple[str, Any]], language: str = "en") -> VectorsManifest:
    pairs = list(words.items()) if isinstance(words, dict) else words
    folder.mkdir()
    writer = TableWriter(folder, dimensions=len(pairs[0][1]), language=language)
    try:
        for word, vector in pairs:
            writer.add(word, vector)
        return writer.finish()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        *(((1, 0), (1, 1), math.sqrt(0.5)), ((3, 4), (4, 3), 0.96), ((1, 2, 2), (2, 1, 2), 8 / 9)),
        *(((1, 0), (-1, 0), 0.0), ((1, 0), (0, 5), 0.0)),
        *(((0.1, 0.2), (0.1, 0.2), 1.0), ((1e-30, 0), (1e30, 1e30), math.sqrt(0.5))),
    ],
)
def test_the_cosine_is_that_of_the_angle_cut_to_zero_and_one(one, other, cosine):
    assert cosine_similarity(one, other) == pytest.approx(cosine, abs=1e-12)
    assert cosine_similarity(other, one) == cosine_similarity(one, other)


@given(st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3), st.floats(0.1, 10))
def test_the_length_of_a_vector_makes_no_difference(vector, factor):
    if max(map(abs, vector)) < 1e-3:
        vector[0] = 1.0
    assert 0 <= cosine_similarity(vector, [1, 2, 3]) <= 1
    assert cosine_similarity(np.multiply(vector, factor), [1, 2, 3]) == pytest.approx(
        cosine_similarity(vector, [1, 2, 3]), abs=1e-9
    )


def test_words_are_as_near_as_their_vectors_and_unknown_ones_are_not_near_at_all(tmp_path):
    write(tmp_path / "table", ANIMALS)
    table = open_table(tmp_path / "table")
    assert (len(table), table.dimensions) == (7, 2)
    assert table.similarity("cat", "dog") == pytest.approx(math.sqrt(0.5))
    assert table.similarity("cat", "cat") == 1.0
    assert table.similarity("cat", "no") == 0.0
    assert table.similarity("cat", "unicorn") is None
    assert table.similarity("unicorn", "cat") is None
    assert table.vector("dog").tolist() == [1, 1]
    assert table.vector("dog").dtype == np.float32


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *(("  cat ", "cat"), ("CAT", "cat"), ("paris", "Paris"), ("PARIS", "Paris"), ("new york", "New_York")),
        *(("New  York", "New_York"), ("usa", "USA"), ("STRASSE", None), ("Straße", "straße"), ("", None)),
        *(("   ", None), ("cat\ud800", "cat"), ("\ud800", None)),
        *(("cat" * MAX_WORD_CHARACTERS, None), ("cat' OR 1=1 --", None)),
    ],
)
def test_a_word_is_found_in_other_spellings(tmp_path, said, meant):
    write(tmp_path / "table", ANIMALS)
    vector = open_table(tmp_path / "table").vector(said)
    assert (vector is None) == (meant is None)
    if meant is not None:
        assert tuple(vector) == ANIMALS[meant]


def test_the_spelling_that_was_typed_goes_before_others(tmp_path):
    write(tmp_path / "table", {"Turkey": (1, 0), "turkey": (0, 1), "TURKEY": (1, 1)})
    table = open_table(tmp_path / "table")
    assert [table.vector(word).tolist() for word in ("Turkey", "turkey", "TURKEY")] == [[1, 0], [0, 1], [1, 1]]
    assert spellings("tUrKeY")[:2] == ["tUrKeY", "turkey"]


def test_composed_and_decomposed_letters_are_the_same_word(tmp_path):
    write(tmp_path / "table", {"cafe\u0301": (1, 0), "o\u0308l": (0, 1)})
    table = open_table(tmp_path / "table")
    assert table.vector("café").tolist() == table.vector("cafe\u0301").tolist() == [1, 0]
    assert table.vector("öl").tolist() == [0, 1]


def test_the_first_of_two_vectors_is_taken_and_zeros_are_left_out(tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    writer = TableWriter(folder, dimensions=2, language="en")
    for word, vector in [("cat", (1, 0)), ("nothing", (0, 0)), ("cat", (0, 1)), ("dog", (1, 1)), ("cat", (1, 1))]:
        writer.add(word, vector)
    writer.finish()
    assert (writer.words, writer.duplicates, writer.zeros) == (2, 2, 1)
    table = open_table(folder)
    assert table.vector("cat").tolist() == [1, 0]
    assert table.vector("dog").tolist() == [1, 1]
    assert table.vector("nothing") is None


def test_rows_in_many_blocks_are_where_their_words_are(tmp_path):
    count = 2 * ROWS_AT_ONCE + 7
    manifest = write(tmp_path / "table", [(f"w{i % (count - 3)}", (i + 1, 1)) for i in range(count)])
    table = open_table(tmp_path / "table")
    assert manifest.words == len(table) == count - 3
    assert all(table.vector(f"w{i}")[0] == i + 1 for i in range(0, count - 3, 501))
    assert np.load(tmp_path / "table" / MATRIX, mmap_mode="r").shape == (count - 3, 2)
    assert check_table(tmp_path / "table") == manifest


@pytest.mark.parametrize(
    ("pairs", "number", "reason"),
    [
        ([("a", (1, 2)), ("b", (1, 2, 3))], 2, "there are 3 numbers after 'b', not 2"),
        ([("a", (1, 2)), ("b", (1, 2)), ("c", (1, math.nan))], 3, "a number after 'c' is not finite"),
        ([("a", (1, math.inf))], 1, "a number after 'a' is not finite"),
        ([("a", (1, 2)), ("", (1, 2))], 2, "there is no word before the numbers"),
        ([("a", (0, 0))], 1, "no word has a vector other than zero"),
    ],
)
def test_what_cannot_be_in_a_table_is_named_by_number(tmp_path, pairs, number, reason):
    with pytest.raises(VectorError) as refused:
        write(tmp_path / "table", pairs)
    assert (refused.value.number, refused.value.reason) == (number, reason)


def test_the_signature_follows_from_the_content_alone(tmp_path):
    first = write(tmp_path / "first", ANIMALS)
    assert write(tmp_path / "again", ANIMALS).signature == first.signature
    others = [
        write(tmp_path / "number", {**ANIMALS, "dog": (1, 2)}),
        write(tmp_path / "word", {**ANIMALS, "dogs": (1, 2)}),
        write(tmp_path / "order", list(ANIMALS.items())[::-1]),
        write(tmp_path / "language", ANIMALS, language="de"),
    ]
    assert len({first.signature, *(other.signature for other in others)}) == 5
    assert open_table(tmp_path / "first").signature == first.signature
    assert len(bytes.fromhex(first.signature)) == hashlib.sha256().digest_size


def cut_matrix(folder: Path) -> None:
    with (folder / MATRIX).open("r+b") as file:
        file.truncate((folder / MATRIX).stat().st_size - 1)


def grow_index(folder: Path) -> None:
    with (folder / WORDS).open("ab") as file:
        file.write(b"\0")


def edit_manifest(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**said, "words": said["words"] - 1}))


def edit_layout(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**said, "layout": 0}))


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (cut_matrix, "matrix.npy has"),
        (grow_index, "words.sqlite has"),
        (edit_manifest, "manifest.json was changed"),
        (edit_layout, "manifest.json was changed"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "is not a manifest"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "is not a manifest"),
        (lambda folder: (folder / MANIFEST).unlink(), "manifest.json cannot be read"),
        (lambda folder: (folder / WORDS).unlink(), "words.sqlite cannot be read"),
        (lambda folder: (folder / MATRIX).unlink(), "matrix.npy cannot be read"),
    ],
)
def test_files_that_are_gone_or_of_another_size_do_not_open(tmp_path, break_it, said):
    write(tmp_path / "table", ANIMALS)
    break_it(tmp_path / "table")
    with pytest.raises(MalformedTableError, match=said):
        open_table(tmp_path / "table")


def test_reading_everything_finds_a_changed_number_and_a_changed_word(tmp_path):
    for name in ("number", "word"):
        write(tmp_path / name, ANIMALS)
        check_table(tmp_path / name)
    with (tmp_path / "number" / MATRIX).open("r+b") as file:
        file.seek(-3, 2)
        file.write(b"\1")
    index = sqlite3.connect(tmp_path / "word" / WORDS)
    index.execute("UPDATE words SET word = 'kat' WHERE word = 'cat'")
    index.commit()
    index.close()
    open_table(tmp_path / "number")
    with pytest.raises(MalformedTableError, match=r"numbers in .*matrix\.npy were changed"):
        check_table(tmp_path / "number")
    with pytest.raises(MalformedTableError, match=r"words in .*words\.sqlite were changed"):
        check_table(tmp_path / "word")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_many_threads_read_the_same_table_at_the_same_time(tmp_path):
    count = 600
    write(tmp_path / "table", [(f"w{i}", (i + 1, 1)) for i in range(count)])
    table = open_table(tmp_path / "table")

    def read(start: int) -> list[float]:
        return [float(table.vector(f"W{(start + step) % count}")[0]) for step in range(100)]

    with ThreadPoolExecutor(16) as pool:
        vectors = list(pool.map(read, range(0, count, 20)))
    wanted = [[float((start + step) % count + 1) for step in range(100)] for start in range(0, count, 20)]
    assert vectors == wanted


MEASURE = """
import sys
from pathlib import Path
from crosslens_metrics.word_vectors import open_table

def resident_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])

before = resident_kib()
table = open_table(Path(sys.argv[1]))
for row in range(0, len(table), 20):
    assert table.similarity(f"w{row}", "w7") is not None
print(resident_kib() - before)
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the memory of a process there")
@pytest.mark.long(reason="memory is measured, with a large table")
def test_using_a_table_takes_a_small_part_of_its_size_in_memory(tmp_path):
    rng = np.random.default_rng(5)
    write(tmp_path / "table", [(f"w{row}", vector) for row, vector in enumerate(rng.random((40_000, 200)))])
    size_kib = (tmp_path / "table" / MATRIX).stat().st_size / 1024
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "table")]
    grown_kib = int(subprocess.run(command, cwd=ROOT / "libs", check=True, capture_output=True, text=True).stdout)
    assert size_kib > 31_000
    assert grown_kib < 16_000
