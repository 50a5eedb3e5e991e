"""BLEU-1 to BLEU-4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from crosslens_metrics import bleu as module
from crosslens_metrics.bleu import bleu, bleu_of_sums
from tests.metrics.captions_drawn import corpus
from tests.metrics.reference_tool import assert_equal_scores, coco_example, reference_bleu


def assert_equals_the_reference(candidates, references, **options):
    corpora, per_images = reference_bleu(candidates, references)
    for scores, of_corpus, per_image in zip(bleu(candidates, references, **options), corpora, per_images, strict=True):
        assert_equal_scores(scores, of_corpus, per_image)


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus())
def test_any_captions_have_the_figures_of_the_reference_implementation(drawn):
    assert_equals_the_reference(*drawn)


@pytest.mark.long(reason="at least three others run each of its lines")
@given(drawn=corpus(most=12))
def test_small_parts_in_threads_give_the_same(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WORDS_AT_ONCE", 20)
        assert_equals_the_reference(*drawn, workers=2)


def test_the_published_figures_of_the_coco_example_come_out():
    candidates, references, of_corpus, per_image = coco_example()
    for order, scores in enumerate(bleu(candidates, references), start=1):
        assert_equal_scores(scores, of_corpus[f"Bleu_{order}"], per_image[f"Bleu_{order}"])


def test_an_n_gram_counts_as_often_as_in_the_reference_that_has_it_most():
    unigrams = bleu(["the the the the"], [["the cat", "the the cat"]])[0]
    assert unigrams.corpus == pytest.approx(2 / 4)


def test_of_two_references_equally_near_in_length_the_shorter_counts():
    assert bleu(["a b c"], [["a b", "a b c d"]])[0].corpus == pytest.approx(1)
    assert bleu(["a b c"], [["x y z w", "a b c d"]])[0].corpus == pytest.approx(np.exp(1 - 4 / 3))


def test_captions_equal_to_a_reference_score_one():
    for scores in bleu(["a cat on a mat", "two dogs run fast"], [["a cat on a mat"], ["no", "two dogs run fast"]]):
        assert [scores.corpus, *scores.per_image] == pytest.approx([1, 1, 1])


def counted(candidate, references, order):
    """Matches and guesses of n-grams, by hand."""
    words = candidate.split()
    n_grams = [tuple(words[at : at + order]) for at in range(len(words) - order + 1)]
    there = [reference.split() for reference in references]
    most = {
        n_gram: max([tuple(text[at : at + order]) for at in range(len(text))].count(n_gram) for text in there)
        for n_gram in n_grams
    }
    return sum(min(n_grams.count(n_gram), most[n_gram]) for n_gram in set(n_grams)), len(n_grams)


def test_sums_are_lengths_and_matches_and_guesses_of_each_order():
    candidates = ["a cat on a mat", "the the the the", "dog"]
    references = [
        ["a cat is on the mat", "a cat on a rug lies"],
        ["the cat", "the the cat"],
        ["two dogs run", "dog run"],
    ]

    bleus = bleu(candidates, references)

    lengths = [[5, 6], [4, 3], [1, 2]]
    for order, scores in enumerate(bleus, start=1):
        pairs = zip(candidates, references, lengths, strict=True)
        expected = [
            [*of_image, *(count for n in range(1, order + 1) for count in counted(candidate, texts, n))]
            for candidate, texts, of_image in pairs
        ]
        assert scores.sums.tolist() == expected


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus())
def test_sums_over_all_images_and_over_one_give_the_same_figures(drawn):
    for order, scores in enumerate(bleu(*drawn), start=1):
        assert bleu_of_sums([scores.sums.sum(axis=0)], order=order) == pytest.approx([scores.corpus], rel=1e-12)
        assert bleu_of_sums(scores.sums, order=order) == pytest.approx(scores.per_image, rel=1e-12)


def test_sums_of_another_order_are_refused():
    with pytest.raises(ValueError, match="BLEU-4 follows from 10 sums in a row"):
        bleu_of_sums(np.ones((3, 4)), order=4)
