"""English sentences are joined across languages and numbered in the order of their MD5, in chunks."""

from __future__ import annotations

from collections import Counter
from hashlib import md5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parallel_text import ingest
from parallel_text.config import CandidateSettings, Config, Inventory, Text
from parallel_text.folder import LocalFolder
from parallel_text.ingest import STEP
from parallel_text.problems import CorpusError
from parallel_text.steps import Work

WORDS = st.sampled_from(["seal", "stamp", "ice", "sea", "letter"])
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=30)


def work_on(folder, *, chunk_sentences=100, **texts):
    """Prepare to ingest texts, each by the name of its file with its lines; the name begins with its language."""
    for name, lines in texts.items():
        (folder / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines))
    config = Config(
        name="made",
        texts=tuple(Text(name[:2], "tsv", (f"{name}.tsv",)) for name in texts),
        inventories=(Inventory("en", "en.tsv"),),
        candidates=CandidateSettings(),
        chunk_sentences=chunk_sentences,
        workers=1,
    )
    return Work(config, LocalFolder(folder / "out"), folder / "scratch", folder.joinpath)


def run(work):
    for chunk in STEP.chunks(work):
        assert not STEP.is_written(work, chunk)
        STEP.run_chunk(work, chunk)
        assert STEP.is_written(work, chunk)
    return STEP.finish(work)


def digest(text):
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def rows(work, name, columns="*"):
    import duckdb

    return duckdb.sql(f"SELECT {columns} FROM '{work.folder.read(name)}'").fetchall()  # noqa: S608


def test_a_sentence_in_two_languages_is_one_and_identical_pairs_come_once(tmp_path):
    work = work_on(
        tmp_path,
        es_1=["A seal.\tUna foca.", "A  seal.\tUn sello.", "Ice.\tHielo."],
        es_2=["Ice.\tHielo.", "A seal.\tUna foca."],
        de=["bad", "Ice.\tEis."],
    )

    report = run(work)

    texts = sorted(["A seal.", "Ice."], key=digest)
    seal, ice = texts.index("A seal."), texts.index("Ice.")
    assert rows(work, "ingest/english/00000.parquet") == list(enumerate(texts))
    assert sorted(rows(work, "ingest/pairs.es/00000.parquet", "sentence, text, file, line")) == sorted(
        [(seal, "Una foca.", "es_1.tsv", 1), (seal, "Un sello.", "es_1.tsv", 2), (ice, "Hielo.", "es_1.tsv", 3)]
    )
    assert rows(work, "ingest/pairs.de/00000.parquet") == [(0, ice, "Eis.", "de.tsv", 2)]
    assert report.counts == {
        "pairs_read": 6,
        "identical_pairs": 2,
        "sentences": 2,
        "pairs": {"de": 1, "es": 3},
        "sentences_by_languages": {"1": 1, "2": 1},
    }
    assert report.problems.counts == {"wrong_columns": 1}
    assert work.folder.names("ingest/lines/") == []


@given(spanish=PAIRS, german=PAIRS, chunk=st.integers(1, 7), at_once=st.sampled_from([1, 5, 1000]))
@settings(max_examples=5)
def test_chunks_hold_what_a_count_by_hand_finds(spanish, german, chunk, at_once, tmp_path_factory):
    lines = {"es": ["\t".join(pair) for pair in spanish], "de": ["\t".join(pair) for pair in german]}
    work = work_on(tmp_path_factory.mktemp("chunks"), chunk_sentences=chunk, **lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "KEYS_AT_ONCE", at_once)
        run(work)

    texts = sorted({english for english, _ in spanish + german}, key=digest)
    names = work.folder.names("ingest/english/")
    assert [rows(work, name) for name in names] == [
        list(enumerate(texts))[start : start + chunk] for start in range(0, len(texts), chunk)
    ]
    for language, pairs in (("es", spanish), ("de", german)):
        found = []
        for name in names:
            of_chunk = rows(work, name.replace("english", f"pairs.{language}"))
            assert {row[1] for row in of_chunk} <= {row[0] for row in rows(work, name)}
            found += of_chunk
        assert [row[0] for row in found] == list(range(len(set(pairs))))
        assert Counter((texts[row[1]], row[2]) for row in found) == Counter(set(pairs))
        # Each pair names the line where it comes first.
        assert all(row[4] == 1 + pairs.index((texts[row[1]], row[2])) for row in found)


def test_a_text_without_a_pair_that_can_be_used_is_refused_with_its_first_fault(tmp_path):
    work = work_on(tmp_path, es=["A seal", "Ice"])

    with pytest.raises(CorpusError, match=r"es\.tsv: no pair of English and “es” .* Line 1: The line has 1 columns"):
        STEP.run_chunk(work, "00000")

    assert not work.folder.names("ingest/")
