"""Captions as numbers, and in how many images their n-grams stand."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics import encoding
from crosslens_metrics.bleu import bleu
from crosslens_metrics.cider import cider, cider_d
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.encoding import encode, side_by_side
from crosslens_metrics.rouge_l import rouge_l
from crosslens_metrics.vocabulary import WordNumbers
from tests.metrics.captions_drawn import corpus
from tests.metrics.plain import document_frequencies

METRICS = [bleu, rouge_l, cider, cider_d]


def texts(captions):
    """The words of each caption."""
    words = captions.vocabulary.words(captions.words.tolist())
    return [words[start:end] for start, end in zip(captions.word_starts[:-1], captions.word_starts[1:], strict=True)]


def in_order(candidates, references):
    return [text for candidate, of_image in zip(candidates, references, strict=True) for text in (*of_image, candidate)]


@pytest.mark.long(reason="at least three others run each of its lines")
@given(drawn=corpus(), images_at_once=st.sampled_from([1, 2, 4096]))
def test_words_are_what_blanks_or_single_spaces_separate(drawn, images_at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "IMAGES_AT_ONCE", images_at_once)
        captions = encode(*drawn)
    assert texts(captions) == [text.split() for text in in_order(*drawn)]
    assert texts(captions.cut_at_single_spaces()) == [text.split(" ") for text in in_order(*drawn)]


@pytest.mark.long(reason="at least three others run each of its lines")
@given(drawn=corpus(most=12), words=st.integers(1, 60))
def test_parts_hold_whole_images_and_everything_once(drawn, words):
    captions = encode(*drawn)
    parts = list(captions.parts(words=words))
    assert [words for part in parts for words in texts(part)] == texts(captions)
    assert sum(part.n_images for part in parts) == captions.n_images
    single = [text for part in parts for text in texts(part.cut_at_single_spaces())]
    assert single == texts(captions.cut_at_single_spaces())


@pytest.mark.long(reason="at least three others run each of its lines")
def test_every_blank_of_unicode_separates_words():
    blanks = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    captions = encode([f"one{blank}two" for blank in blanks], [["b"]] * len(blanks))
    assert texts(captions)[1::2] == [["one", "two"]] * len(blanks)


def test_characters_that_are_encoded_much_like_blanks_do_not_separate():
    alike = ["\u200c", "\u200d", "‘", "–", "\u3001", "\u1681", "\u2060", "\xa1", "\x84", "\x1b", "\x00", "\x7f"]
    captions = encode([f"one{character}two" for character in alike], [["b"]] * len(alike))
    assert texts(captions)[1::2] == [[f"one{character}two"] for character in alike]


@pytest.mark.long(reason="at least three others run each of its lines")
@given(st.lists(st.lists(st.text(alphabet="ab\0é猫", max_size=20), max_size=200), max_size=5))
def test_a_number_stands_for_one_word_and_a_word_has_one_number(batches):
    vocabulary = WordNumbers()
    number_of: dict[str, int] = {}
    for words in batches:
        for word, number in zip(words, vocabulary.numbers_of(words).tolist(), strict=True):
            assert number_of.setdefault(word, number) == number
    assert len(set(number_of.values())) == len(number_of)
    assert vocabulary.words(list(number_of.values())) == list(number_of)


def test_words_whose_places_in_the_table_are_the_same_are_told_apart(monkeypatch):
    monkeypatch.setattr(
        "crosslens_metrics.vocabulary._shuffle", lambda before, piece: np.zeros(len(piece), dtype=np.uint64)
    )
    vocabulary, words = WordNumbers(), [f"word number {n}" for n in range(300)]
    assert vocabulary.words(vocabulary.numbers_of(words * 2).tolist()) == words * 2


def test_a_vocabulary_grows_and_keeps_its_numbers():
    vocabulary = WordNumbers()
    first = vocabulary.numbers_of([str(n) for n in range(3_000)])
    vocabulary.numbers_of([str(n) for n in range(60_000)])
    assert vocabulary.numbers_of([str(n) for n in range(3_000)]).tolist() == first.tolist()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        ([], [], "There is no image"),
        (["a", "b"], [["a"]], "2 candidates, and references of 1 images"),
        (["a", "b"], [["a"], []], "Image 1 has no reference"),
        (["a", "b"], [["a"], "a cat"], "references of image 1 are a single text"),
    ],
)
def test_what_cannot_be_scored_is_named(metric, candidates, references, message):
    with pytest.raises(ValueError, match=message):
        metric(candidates, references)


def test_what_is_not_a_text_is_named():
    with pytest.raises(TypeError, match="Image 1 has a caption that is not a text"):
        encode(["a", "b"], [["a"], ["b", None]])


def test_the_order_of_images_does_not_matter_to_a_score():
    candidates = ["a cat on a mat", "dogs", "a red red bus", ""]
    references = [["a cat", "the mat"], ["two dogs run"], ["a bus", "a red bus"], ["nothing"]]
    order = [2, 0, 3, 1]
    turned = [candidates[i] for i in order], [references[i] for i in order]
    for metric in (rouge_l, cider, cider_d):
        assert metric(*turned).per_image == pytest.approx(metric(candidates, references).per_image[order])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_parts_side_by_side_come_in_their_order(workers):
    assert list(side_by_side(lambda part: part * 2, range(20), workers=workers)) == list(range(0, 40, 2))


def test_there_is_at_least_one_worker():
    with pytest.raises(ValueError, match="0 workers"):
        cider(["a"], [["a"]], workers=0)


REFERENCES = [["a cat on the mat", "the cat"], ["the dog"], ["قطة على السجادة", ""]]


def counts_of(frequencies):
    """Each n-gram as a tuple of words."""
    counts_by_gram: dict[tuple[str, ...], int] = {}
    grams: list[tuple[str, ...]] = [()]
    for before, last, counts in zip(frequencies.before, frequencies.last, frequencies.counts, strict=True):
        grams = [(*grams[row], frequencies.words[word - 1]) for row, word in zip(before, last, strict=True)]
        counts_by_gram |= dict(zip(grams, counts.tolist(), strict=True))
        grams.insert(0, ())  # rows count from 1
    return counts_by_gram


@given(corpus())
def test_counts_are_the_images_with_the_n_gram_in_a_reference(drawn):
    frequencies = DocumentFrequencies.from_references(drawn[1], workers=2)
    assert counts_of(frequencies) == document_frequencies(drawn[1])
    assert frequencies.documents == len(drawn[1])


@given(corpus())
def test_counts_of_another_tool_give_the_same_frequencies(drawn):
    ours = DocumentFrequencies.from_references(drawn[1])
    theirs = DocumentFrequencies.from_counts(len(drawn[1]), {**document_frequencies(drawn[1]), ("unseen",): 0.0})
    assert theirs.signature == ours.signature
    assert counts_of(theirs) == counts_of(ours)


def test_a_file_returns_what_was_saved(tmp_path):
    frequencies = DocumentFrequencies.from_references(REFERENCES, text="whitespace-1")
    frequencies.save(tmp_path / "corpus.df")
    loaded = DocumentFrequencies.load(tmp_path / "corpus.df")
    assert counts_of(loaded) == counts_of(frequencies)
    assert (loaded.documents, loaded.signature, loaded.text) == (3, frequencies.signature, "whitespace-1")


def test_a_file_that_does_not_say_how_its_texts_became_tokens_is_read(tmp_path):
    DocumentFrequencies.from_references(REFERENCES, text="whitespace-1").save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        np.savez(tmp_path / "old.npz", **{name: file[name] for name in file if name != "text"})
    loaded = DocumentFrequencies.load(tmp_path / "old.npz")
    assert loaded.text == ""
    assert loaded.signature == DocumentFrequencies.from_references(REFERENCES).signature


def test_the_signature_tells_corpora_apart_and_not_the_order_of_images():
    signature = DocumentFrequencies.from_references(REFERENCES).signature
    assert DocumentFrequencies.from_references(REFERENCES[::-1]).signature == signature
    assert DocumentFrequencies.from_references([*REFERENCES, [""]]).signature != signature
    assert (
        DocumentFrequencies.from_references([["a cat on the mat", "the dog"], *REFERENCES[1:]]).signature != signature
    )


def test_a_file_of_something_else_is_refused(tmp_path):
    for name, content in {"text": b"a cat", "empty": b"", "pickle": pickle.dumps({("a",): 1.0})}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="does not hold document frequencies"):
            DocumentFrequencies.load(tmp_path / name)
    np.savez(tmp_path / "other.npz", numbers=np.arange(3))
    with pytest.raises(ValueError, match="does not hold document frequencies"):
        DocumentFrequencies.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        DocumentFrequencies.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", np.int64(2), "is of format 2"),
        ("last_1", np.array([1, 1], dtype=np.int32), "do not fit together"),
        ("last_1", np.array([1, 9], dtype=np.int32), "do not fit together"),
        ("last_1", np.array([1], dtype=np.int32), "do not fit together"),
        ("before_2", np.array([3], dtype=np.int32), "do not fit together"),
        ("before_2", np.array([0], dtype=np.int32), "do not fit together"),
        ("counts_2", np.array([0]), "do not fit together"),
        ("documents", np.int64(0), "do not fit together"),
        ("words", np.array([object()], dtype=object), "does not hold document frequencies"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, name, value, message):
    path = tmp_path / "corpus.npz"
    DocumentFrequencies.from_references([["a cat"]]).save(path)
    with np.load(path) as file:
        parts = dict(file)
    assert name in parts
    np.savez(path, **{**parts, name: value})
    with pytest.raises(ValueError, match=message):
        DocumentFrequencies.load(path)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({("a",): 1.5}, "whole counts"),
        ({("a", "b", "c", "d", "e"): 1}, "1 to 4 words"),
        ({("a",): 1, ("b", "a"): 1}, r"\('b', 'a'\) is among the counts, but \('b',\) is not"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        DocumentFrequencies.from_counts(3, counts)
