"""ROUGE-L."""

from __future__ import annotations

import pytest
from hypothesis import given

from crosslens_metrics import rouge_l as module
from crosslens_metrics.encoding import encode
from crosslens_metrics.rouge_l import rouge_l, rouge_l_of
from tests.metrics.captions_drawn import corpus
from tests.metrics.plain import plain_rouge_l
from tests.metrics.reference_tool import assert_equal_scores, coco_example, reference_rouge_l


@given(corpus(most=4))
def test_any_captions_have_the_figures_of_the_reference_implementation(drawn):
    assert_equal_scores(rouge_l(*drawn), *reference_rouge_l(*drawn))


@given(corpus())
def test_small_parts_in_threads_and_another_beta_give_what_the_definition_says(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMPARISONS_AT_ONCE", 500)
        scores = rouge_l(*drawn, beta=0.5, workers=2)
    assert scores.per_image == pytest.approx(plain_rouge_l(*drawn, beta=0.5))


def test_the_published_figures_of_the_coco_example_come_out():
    candidates, references, of_corpus, per_image = coco_example()
    assert_equal_scores(rouge_l(candidates, references), of_corpus["ROUGE_L"], per_image["ROUGE_L"])


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
