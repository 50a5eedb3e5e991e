"""Lines become sentences, in several languages where their source says so, numbered by their MD5, in chunks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import md5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parallel_text import ingest
from parallel_text.config import Text
from parallel_text.ingest import STEP
from parallel_text.problems import CorpusError
from tests.parallel_text.made import cells, run, work_with

WORDS = st.sampled_from(["seal", "stamp", "ice", "sea", "letter"])
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=30)


def work_on(folder, *, chunk_sentences=100, **texts):
    """Prepare to ingest texts, each by the name of its file with its lines; the name begins with its language."""
    for name, lines in texts.items():
        (folder / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines))
    texts_of = tuple(Text(name[:2], "tsv", (f"{name}.tsv",)) for name in texts)
    return work_with(folder, texts=texts_of, chunk_sentences=chunk_sentences)


def digest(text):
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def test_every_line_is_a_sentence_and_text_joins_languages_only_where_none_has_it_twice(tmp_path):
    work = work_on(
        tmp_path,
        es_1=["A seal.\tUna foca.", "A  seal.\tUn sello.", "Ice.\tHielo."],
        es_2=["A dog.\tUn perro.", "A seal.\tUna foca."],
        fr=["bad", "Ice.\tGlace.", "A seal.\tUn sceau.", "A dog.\tUn chien.", "A dog.\tUn chien."],
    )

    report = run(STEP, work)

    # By hand: four seals, of which no source says that any two are one; three dogs, for the same reason; and one ice,
    # which each language has once.
    texts = sorted(["A seal."] * 4 + ["A dog."] * 3 + ["Ice."], key=digest)
    english = cells(work, "ingest/english/00000.parquet", "sentence", "text", "occurrence")
    assert [row[:2] for row in english] == list(enumerate(texts))
    assert sorted(row[1:] for row in english if row[1] == "A seal.") == [("A seal.", number) for number in (1, 2, 3, 4)]
    found = [
        (language, texts[sentence], text, file, line)
        for language in ("es", "fr")
        for _pair, sentence, text, file, line in cells(work, f"ingest/pairs.{language}/00000.parquet")
    ]
    assert sorted(found) == [
        ("es", "A dog.", "Un perro.", "es_2.tsv", 1),
        ("es", "A seal.", "Un sello.", "es_1.tsv", 2),
        ("es", "A seal.", "Una foca.", "es_1.tsv", 1),
        ("es", "A seal.", "Una foca.", "es_2.tsv", 2),
        ("es", "Ice.", "Hielo.", "es_1.tsv", 3),
        ("fr", "A dog.", "Un chien.", "fr.tsv", 4),
        ("fr", "A dog.", "Un chien.", "fr.tsv", 5),
        ("fr", "A seal.", "Un sceau.", "fr.tsv", 3),
        ("fr", "Ice.", "Glace.", "fr.tsv", 2),
    ]
    assert report.counts == {
        "sentences": 8,
        "pairs": {"es": 5, "fr": 4},
        "sentences_by_languages": {"1": 7, "2": 1},
    }
    assert report.problems.counts == {"wrong_columns": 1}
    assert work.folder.names("ingest/lines/") == []


def joined(work):
    """By sentence, the lines that it has in Spanish and French."""
    run(STEP, work)
    found: dict[int, list[str]] = {}
    for language in ("es", "fr"):
        for sentence, text in cells(work, f"ingest/pairs.{language}/00000.parquet", "sentence", "text"):
            found.setdefault(sentence, []).append(text)
    return sorted(found.values())


def test_lines_with_the_same_id_are_one_sentence_and_those_with_others_are_not(tmp_path):
    work = work_on(
        tmp_path,
        es=["s1\tA seal.\tUna foca.", "s2\tA seal.\tUn sello.", "s3\tIce.\tHielo.", "s4\tIt rains.\tLlueve."],
        fr=["s2\tA seal.\tUn sceau.", "s1\tA seal.\tUn phoque.", "s9\tIce.\tGlace.", "s4\tIt snows.\tIl neige."],
    )
    # An id of another English sentence is that of another source.
    assert joined(work) == [
        ["Glace."], ["Hielo."], ["Il neige."], ["Llueve."], ["Un sello.", "Un sceau."], ["Una foca.", "Un phoque."],
    ]  # fmt: skip


def test_lines_of_one_english_file_are_one_sentence_in_all_its_languages(tmp_path):
    for name, lines in {"en": "Ice.\nIce.\n", "es": "Hielo.\nHelado.\n", "fr": "Glace.\nGlaces.\n"}.items():
        (tmp_path / name).write_text(lines)
    made = work_on(tmp_path)
    texts = tuple(Text(language, "moses", ("en", language)) for language in ("es", "fr"))
    work = replace(made, config=replace(made.config, texts=texts))
    assert joined(work) == [["Helado.", "Glaces."], ["Hielo.", "Glace."]]


@given(spanish=PAIRS, german=PAIRS, chunk=st.integers(1, 7), at_once=st.sampled_from([1, 5, 1000]))
@settings(max_examples=5)
def test_chunks_hold_what_a_count_by_hand_finds(spanish, german, chunk, at_once, tmp_path_factory):
    lines = {"es": ["\t".join(pair) for pair in spanish], "de": ["\t".join(pair) for pair in german]}
    work = work_on(tmp_path_factory.mktemp("chunks"), chunk_sentences=chunk, **lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "KEYS_AT_ONCE", at_once)
        run(STEP, work)

    times = {
        language: Counter(english for english, _ in pairs) for language, pairs in (("es", spanish), ("de", german))
    }
    joins = {text for text in times["es"] & times["de"] if times["es"][text] == times["de"][text] == 1}
    texts = sorted((times["es"] + times["de"]).elements(), key=digest)
    for text in joins:
        texts.remove(text)
    names = work.folder.names("ingest/english/")
    assert [cells(work, name, "sentence", "text") for name in names] == [
        list(enumerate(texts))[start : start + chunk] for start in range(0, len(texts), chunk)
    ]
    sentences: Counter[int] = Counter()
    for language, pairs in (("es", spanish), ("de", german)):
        found = []
        for name in names:
            of_chunk = cells(work, name.replace("english", f"pairs.{language}"))
            assert {row[1] for row in of_chunk} <= {row[0] for row in cells(work, name)}
            found += of_chunk
        assert [row[0] for row in found] == list(range(len(pairs)))
        assert sorted((row[4], texts[row[1]], row[2]) for row in found) == [
            (line, *pair) for line, pair in enumerate(pairs, start=1)
        ]
        sentences.update(row[1] for row in found)
    assert {texts[sentence] for sentence, count in sentences.items() if count == 2} == joins
    assert set(sentences) == set(range(len(texts)))


def test_a_text_without_a_pair_that_can_be_used_is_refused_with_its_first_fault(tmp_path):
    work = work_on(tmp_path, es=["A seal", "Ice"])

    with pytest.raises(CorpusError, match=r"es\.tsv: no pair of English and “es” .* Line 1: The line has 1 columns"):
        STEP.run_chunk(work, "00000")

    assert not work.folder.names("ingest/")
