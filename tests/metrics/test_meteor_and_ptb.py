"""METEOR 1.5 and Penn Treebank tokens by the real programs, against what the public COCO tool gave."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from crosslens_metrics.meteor import meteor, meteor_of_sums
from crosslens_metrics.ptb import ptb_tokens
from tests.java_tools import needs_java
from tests.published import published

pytestmark = pytest.mark.process


def of_coco(name: str) -> Any:
    return json.loads((published("coco_example") / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _java():
    needs_java()


def test_penn_treebank_tokens_are_those_of_the_public_tool():
    captions = [*of_coco("references")["annotations"], *of_coco("candidates")]
    expected: dict[str, list[str]] = {}
    for tokenised in (of_coco("references_tokenized"), of_coco("candidates_tokenized")):
        for image, texts in tokenised.items():
            expected.setdefault(image, []).extend(texts)
    ours: dict[str, list[str]] = {}

    for caption, tokens in zip(captions, ptb_tokens([caption["caption"] for caption in captions]), strict=True):
        ours.setdefault(str(caption["image_id"]), []).append(tokens)

    assert len(captions) == 6005
    assert ours == expected


def test_odd_texts_keep_their_places():
    texts = ["", "A\nB\u2028C\x0bD\x0cE\x85F\rG", " ", "“Don't!” (a dog)", "狗在跑。", "?", "\U0001f600", "end"]

    tokens = ptb_tokens(texts)

    assert len(tokens) == len(texts)
    assert tokens[1] == "a b c d e f g"
    # The public list of punctuation has brackets in capitals, and is held against small letters: so brackets stay.
    assert tokens[3] == "do n't -lrb- a dog -rrb-"
    assert [tokens[0], tokens[2], tokens[5], tokens[6], tokens[7]] == ["", "", "", "", "end"]


@pytest.mark.long(reason="1,000 images, and a table of paraphrases that takes seconds to read")
def test_meteor_is_that_of_the_public_tool_for_each_image_and_for_all():
    candidates, references = of_coco("candidates_tokenized"), of_coco("references_tokenized")
    expected = of_coco("reference_scores")
    images = list(candidates)

    scores = meteor([candidates[image][0] for image in images], [references[image] for image in images])

    assert scores.corpus == pytest.approx(expected["corpus"]["METEOR"], abs=1e-6)
    of_images = [expected["per_image"][image]["METEOR"] for image in images]
    np.testing.assert_allclose(scores.per_image, of_images, rtol=0, atol=1e-6)
    assert meteor_of_sums([scores.sums.sum(axis=0)], language="en") == pytest.approx([scores.corpus], abs=1e-12)
    np.testing.assert_allclose(meteor_of_sums(scores.sums, language="en"), scores.per_image, rtol=0, atol=1e-12)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_odd_captions_have_a_score_each():
    candidates = ["", "a cat", "||| a | cat |||", ".", "狗在跑", "a\ncat", "a cat " * 300]
    references = [["a cat"], ["a cat", "||| b"], ["a | cat"], ["."], ["狗在跑"], ["a cat"], ["a cat"]]

    # Finnish has no table of paraphrases, which takes seconds to read.
    scores = meteor(candidates, references, language="fi")

    assert scores.per_image[[0, 1, 5]].tolist() == pytest.approx([0.0, 1.0, 1.0])
    assert ((scores.per_image >= 0) & (scores.per_image <= 1)).all()
    assert 0 < scores.corpus < 1
    assert meteor_of_sums([scores.sums.sum(axis=0)], language="fi") == pytest.approx([scores.corpus], abs=1e-12)
    np.testing.assert_allclose(meteor_of_sums(scores.sums, language="fi"), scores.per_image, rtol=0, atol=1e-12)


def test_a_language_without_a_table_has_scores_from_words_and_stems():
    scores = meteor(["Kissa istuu", "koira"], [["kissa istuu"], ["kissa"]], language="fi")

    assert scores.per_image.tolist() == pytest.approx([1.0, 0.0])
