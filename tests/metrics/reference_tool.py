"""The public COCO caption evaluation, given captions in lists."""

from __future__ import annotations

import json

import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from tests.published import published

# What is asked of us is 1e-6; rounding alone separates the two.
EXACTLY = 1e-11


def reference_bleu(candidates, references):
    return Bleu(4).compute_score(*_as_mappings(candidates, references), verbose=0)


def reference_rouge_l(candidates, references):
    return Rouge().compute_score(*_as_mappings(candidates, references))


def reference_cider_d(candidates, references):
    return Cider().compute_score(*_as_mappings(candidates, references))


def assert_equal_scores(scores, corpus, per_image):
    assert scores.corpus == pytest.approx(corpus, rel=EXACTLY, abs=EXACTLY)
    assert scores.per_image == pytest.approx(per_image, rel=EXACTLY, abs=EXACTLY)


def coco_example():
    """Candidates and references in tokens, and the published scores: of the corpus, and of images by name."""
    folder = published("coco_example")
    candidates, references, scores = (
        json.loads((folder / f"{name}.json").read_text())
        for name in ("candidates_tokenized", "references_tokenized", "reference_scores")
    )
    images = list(candidates)
    per_image = {name: [scores["per_image"][image][name] for image in images] for name in scores["corpus"]}
    return [candidates[i][0] for i in images], [references[i] for i in images], scores["corpus"], per_image


def _as_mappings(candidates, references):
    return dict(enumerate(map(list, references))), {image: [text] for image, text in enumerate(candidates)}
