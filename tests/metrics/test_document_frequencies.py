"""Document frequencies that are kept in files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from crosslens_metrics.document_frequencies import DocumentFrequencies
from tests.metrics.captions_drawn import corpus
from tests.metrics.plain import document_frequencies

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
