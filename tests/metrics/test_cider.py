"""CIDEr and CIDEr-D."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given

from crosslens_metrics import n_grams
from crosslens_metrics.cider import cider, cider_d
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.metrics.captions_drawn import corpus
from tests.metrics.plain import document_frequencies, plain_cider
from tests.metrics.reference_tool import EXACTLY, assert_equal_scores, coco_example, reference_cider_d


def has_words(references):
    return any(text.split() for of_image in references for text in of_image)


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus())
def test_any_captions_have_the_cider_d_of_the_reference_implementation(drawn):
    if has_words(drawn[1]):
        assert_equal_scores(cider_d(*drawn), *reference_cider_d(*drawn))


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus())
def test_any_captions_have_the_cider_of_its_definition(drawn):
    if has_words(drawn[1]):
        expected = plain_cider(*drawn)
        assert_equal_scores(cider(*drawn), np.mean(expected), expected)


@given(corpus())
def test_small_parts_in_threads_and_numbers_too_large_for_one_key_give_the_same(drawn):
    if has_words(drawn[1]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(n_grams, "PLACES_AT_ONCE", 20)
            patch.setattr(n_grams, "KEY_BITS", 3)
            assert_equal_scores(cider_d(*drawn, workers=2), *reference_cider_d(*drawn))


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus(), corpus())
def test_stored_frequencies_count_in_the_place_of_the_references(drawn, others):
    frequencies = DocumentFrequencies.from_references(others[1])
    counts = document_frequencies(others[1])
    plain = {"documents": len(others[1]), "counts": counts}
    assert cider(*drawn, frequencies=frequencies).per_image == pytest.approx(plain_cider(*drawn, **plain), abs=EXACTLY)
    expected = plain_cider(*drawn, **plain, clipped=True, sigma=6.0)
    assert cider_d(*drawn, frequencies=frequencies).per_image == pytest.approx(expected, abs=EXACTLY)


def test_stored_frequencies_of_the_references_themselves_change_nothing():
    candidates, references, _, _ = coco_example()
    frequencies = DocumentFrequencies.from_references(references, workers=2)
    for metric in (cider, cider_d):
        own, stored = metric(candidates, references), metric(candidates, references, frequencies=frequencies, workers=2)
        assert_equal_scores(stored, own.corpus, own.per_image)


def test_the_published_figures_of_the_coco_example_come_out():
    candidates, references, of_corpus, per_image = coco_example()
    assert_equal_scores(cider_d(candidates, references), of_corpus["CIDEr"], per_image["CIDEr"])


@pytest.mark.long(reason="a whole published data set; drawn captions have that of the definition, too")
def test_the_original_cider_of_the_coco_example_is_that_of_its_definition():
    candidates, references, _, _ = coco_example()
    expected = plain_cider(candidates, references)
    assert_equal_scores(cider(candidates, references), np.mean(expected), expected)


def test_an_example_worked_out_by_hand():
    # Two images; "a" stands in both and weighs 0, every other word in one and weighs log 2.
    candidates, references = ["a cat cat", "dog"], [["a cat"], ["a dog"]]
    # First image: unigrams (cat: 2) and (cat: 1) are parallel; "a cat" is met, "cat cat" is not: 1/√2; the rest is 0.
    original = 10 * (1 + 1 / 2**0.5) / 4
    assert cider(candidates, references).per_image == pytest.approx([original, 10 * 1 / 4])
    # Clipped, the cat counts once: 1·1 / (2·1). Lengths differ by one pair of words in both images.
    clipped = 10 * (1 / 2 + 1 / 2**0.5) / 4 * exp(-1 / 72)
    assert cider_d(candidates, references).per_image == pytest.approx([clipped, 10 / 4 * exp(-1 / 72)])


def test_repeating_a_weighty_word_is_punished_by_cider_d_only():
    references = [["a red bus"], ["a cat"], ["a dog"]]
    plain, gaming = (["bus", "a cat", "a dog"], ["bus bus bus bus", "a cat", "a dog"])
    assert cider(gaming, references).per_image[0] == pytest.approx(cider(plain, references).per_image[0])
    assert cider_d(gaming, references).per_image[0] < cider_d(plain, references).per_image[0] / 2


def test_counts_above_the_number_of_documents_weigh_against():
    frequencies = DocumentFrequencies.from_counts(2, {("a",): 8, ("cat",): 1, ("a", "cat"): 1})
    counts = {("a",): 8, ("cat",): 1, ("a", "cat"): 1}
    expected = plain_cider(["a a cat"], [["a cat"]], documents=2, counts=counts, clipped=True, sigma=6.0)
    assert cider_d(["a a cat"], [["a cat"]], frequencies=frequencies).per_image == pytest.approx(expected)
    assert log(2) - log(8) < 0, "the weight of a is negative here"


def test_a_wider_sigma_forgives_more():
    candidates, references = ["a cat on the mat", "dog"], [["cat mat"], ["a dog"]]
    narrow, wide = (cider_d(candidates, references, sigma=sigma).corpus for sigma in (1, 100))
    assert narrow < wide < cider(candidates, references).corpus * 1.01
    with pytest.raises(ValueError, match="sigma is 0"):
        cider_d(candidates, references, sigma=0)


def test_a_single_image_scores_nothing_against_its_own_frequencies():
    assert cider_d(["a cat"], [["a cat"]]).per_image.tolist() == [0]
    assert cider(["a cat"], [["a cat"]]).per_image.tolist() == [0]


@pytest.mark.parametrize("metric", [cider, cider_d])
def test_references_without_words_leave_nothing_to_weigh_by(metric):
    with pytest.raises(UndefinedFigureError, match="No reference has a word") as caught:
        metric(["a cat", "b"], [[""], [" ", ""]])
    assert caught.value.reason == UndefinedReason.NO_WORDS
    frequencies = DocumentFrequencies.from_references([["a cat"], ["a dog"]])
    assert metric(["a cat"], [[""]], frequencies=frequencies).per_image.tolist() == [0]
