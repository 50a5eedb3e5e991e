"""BLEU-1 to BLEU-4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from metrics import bleu as module
from metrics.bleu import bleu
from tests.metrics.captions_drawn import corpus
from tests.metrics.reference_tool import assert_equal_scores, coco_example, reference_bleu


def assert_equals_the_reference(candidates, references, **options):
    corpora, per_images = reference_bleu(candidates, references)
    for scores, of_corpus, per_image in zip(bleu(candidates, references, **options), corpora, per_images, strict=True):
        assert_equal_scores(scores, of_corpus, per_image)


@settings(max_examples=150, deadline=None)
@given(corpus())
def test_any_captions_have_the_figures_of_the_reference_implementation(drawn):
    assert_equals_the_reference(*drawn)


@settings(max_examples=30, deadline=None)
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
