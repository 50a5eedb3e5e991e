"""Pairs are aligned part by part with the English tokens of their sentences."""

from __future__ import annotations

import pytest

from parallel_text.align import STEP
from parallel_text.config import AlignSettings
from parallel_text.problems import CorpusError
from tests.parallel_text.aligner import aligner_made_of
from tests.parallel_text.made import rows, run, work_with, write

FIRST_WORDS = "sed 's/[0-9][0-9]* *.*/0-0/' $2 > $6; cp $6 $8"


@pytest.fixture
def work(tmp_path):
    aligner = aligner_made_of(tmp_path, f"cp $2 $4 {tmp_path}; {FIRST_WORDS}")
    work = work_with(tmp_path, "fr", "pt-BR", align=AlignSettings(str(aligner.path)))
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
