"""BLEU, ROUGE-L and CIDEr against the public tool, their definitions, and examples worked out by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given

from crosslens_metrics import bleu as bleu_module
from crosslens_metrics import n_grams
from crosslens_metrics import rouge_l as rouge_l_module
from crosslens_metrics.bleu import bleu, bleu_of_sums
from crosslens_metrics.cider import cider, cider_d
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.encoding import encode
from crosslens_metrics.rouge_l import rouge_l, rouge_l_of
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.metrics.captions_drawn import corpus
from tests.metrics.plain import document_frequencies, plain_cider, plain_rouge_l
from tests.metrics.reference_tool import (
    EXACTLY,
    assert_equal_scores,
    coco_example,
    reference_bleu,
    reference_cider_d,
    reference_rouge_l,
)


def assert_equals_the_reference(candidates, references, **options):
    corpora, per_images = reference_bleu(candidates, references)
    for scores, of_corpus, per_image in zip(bleu(candidates, references, **options), corpora, per_images, strict=True):
        assert_equal_scores(scores, of_corpus, per_image)


@pytest.mark.long(reason="at least three others run each of its lines")
@given(corpus())
def test_any_captions_have_the_bleu_of_the_reference_implementation(drawn):
    assert_equals_the_reference(*drawn)


@pytest.mark.long(reason="at least three others run each of its lines")
@given(drawn=corpus(most=12))
def test_small_parts_in_threads_give_the_same(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bleu_module, "WORDS_AT_ONCE", 20)
        assert_equals_the_reference(*drawn, workers=2)


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


@given(corpus(most=4))
def test_any_captions_have_the_rouge_l_of_the_reference_implementation(drawn):
    assert_equal_scores(rouge_l(*drawn), *reference_rouge_l(*drawn))


@given(corpus())
def test_small_parts_in_threads_and_another_beta_give_what_the_definition_says(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rouge_l_module, "COMPARISONS_AT_ONCE", 500)
        scores = rouge_l(*drawn, beta=0.5, workers=2)
    assert scores.per_image == pytest.approx(plain_rouge_l(*drawn, beta=0.5))


@pytest.mark.parametrize("words", [1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 200])
def test_widths_of_numbers_have_no_seam(words):
    texts = [" ".join(f"w{place % modulus}" for place in range(words)) for modulus in (2, 3, 5, 300)]
    candidates = [text for text in texts for _ in texts]
    references = [[text] for _ in texts for text in texts]
    assert rouge_l(candidates, references).per_image == pytest.approx(plain_rouge_l(candidates, references))


def test_the_best_precision_may_come_from_one_reference_and_the_best_recall_from_another():
    # 3/4 of the candidate are in the first; all of the second is in the candidate.
    score = rouge_l(["a b c d"], [["a b c x x x x x"], ["d"]][0:1]).corpus
    both = rouge_l(["a b c d"], [["a b c x x x x x", "d"]]).corpus
    assert score == pytest.approx((1 + 1.44) * (3 / 4) * (3 / 8) / (3 / 8 + 1.44 * 3 / 4))
    assert both == pytest.approx((1 + 1.44) * (3 / 4) * 1 / (1 + 1.44 * 3 / 4))


def test_what_is_empty_is_one_empty_word():
    assert rouge_l(["", "", "a"], [[""], ["a"], [""]]).per_image.tolist() == [1, 0, 0]


def test_captions_read_once_are_scored_as_those_given_as_texts():
    candidates, references = ["a  cat", "the dog"], [["a cat", "a  cat "], ["the dog"]]
    captions = encode(candidates, references)
    assert rouge_l_of(captions).per_image.tolist() == rouge_l(candidates, references).per_image.tolist()
    assert captions.uneven, "the first candidate is cut differently at single spaces"


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
    ours = {f"Bleu_{order}": scores for order, scores in enumerate(bleu(candidates, references), start=1)}
    ours |= {"ROUGE_L": rouge_l(candidates, references), "CIDEr": cider_d(candidates, references)}
    for name, scores in ours.items():
        assert_equal_scores(scores, of_corpus[name], per_image[name])


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
