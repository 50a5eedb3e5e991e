"""The registry: names, figures, signatures, and sums of metrics; the figures are those of the public COCO tool."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from crosslens_metrics import scoring
from crosslens_metrics.annotation_free import VectorProjections
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.meteor import SUMS
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.scoring import (
    FIGURES,
    METRICS,
    MetricNeed,
    MissingInputError,
    UnknownMetricError,
    metric_named,
    prepare,
    score,
)
from crosslens_metrics.signatures import Signature, differences
from tests.published import published

CANDIDATES = ["a dog runs on the grass", "two cats", ""]
REFERENCES = [["a dog runs", "the dog is running on the grass"], ["two cats sleep"], ["a red boat"]]
PUBLIC_NAMES = {"Bleu_1": "bleu-1", "Bleu_2": "bleu-2", "Bleu_3": "bleu-3", "Bleu_4": "bleu-4", "ROUGE_L": "rouge-l"}


class Directions:
    """Word vectors of two dimensions."""

    signature = "ab" * 32
    dimensions = 2

    def vector(self, word: str) -> Any:
        known = {"dog": [1, 0], "cats": [0, 2], "two": [3, 0], "boat": [0, 1], "red": [0, 5]}
        return np.array(known[word], dtype=np.float32) if word in known else None

    def vector_as_spelt(self, word: str) -> Any:
        return self.vector(word)

    def similarity(self, one: str, other: str) -> float | None:
        return None


@pytest.fixture
def pretended_meteor(monkeypatch):
    """METEOR needs Java; here it is a half for each image. Counts how often it is asked."""
    asked = []

    def half(candidates, references, *, language):
        asked.append(language)
        return MetricScores(0.5, np.full(len(candidates), 0.5), np.ones((len(candidates), SUMS)))

    monkeypatch.setattr("crosslens_metrics.meteor.meteor", half)
    return asked


def test_figures_are_those_of_the_public_tool_with_its_cider_as_cider_d():
    def read(name):
        return json.loads((published("coco_example") / f"{name}.json").read_text(encoding="utf-8"))

    expected, candidates, references = (
        read(name) for name in ("reference_scores", "candidates_tokenized", "references_tokenized")
    )
    images = list(candidates)

    scored = score(
        [candidates[image][0] for image in images],
        [references[image] for image in images],
        metrics=["bleu", "rouge-l", "cider-d"],
    )

    assert [one.metric for one in scored] == ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"]
    for one, name in zip(scored, [*PUBLIC_NAMES, "CIDEr"], strict=True):
        assert one.scores.corpus == pytest.approx(expected["corpus"][name], abs=1e-6)
        of_images = [expected["per_image"][image][name] for image in images]
        np.testing.assert_allclose(one.scores.per_image, of_images, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.needs <= {MetricNeed.JAVA}])
def test_every_metric_gives_the_figures_it_names_with_signatures_that_are_read_back(name, pretended_meteor):
    scored = score(CANDIDATES, REFERENCES, metrics=[name])

    assert [one.metric for one in scored] == [figure.name for figure in METRICS[name].figures]
    for one in scored:
        assert one.signature.metric == one.metric in FIGURES
        assert one.signature.get("text") == "whitespace-1"
        assert Signature.parse(str(one.signature)) == one.signature
        assert one.scores.per_image.shape == (3,)
        assert np.isfinite([one.scores.corpus, *one.scores.per_image]).all()


def test_figures_come_once_in_the_order_in_which_they_are_named():
    scored = score(CANDIDATES, REFERENCES, metrics=["rouge-l", "bleu-4", "bleu", "rouge-l"])

    assert [one.metric for one in scored] == ["rouge-l", "bleu-4", "bleu-1", "bleu-2", "bleu-3"]


def test_bmrc_is_the_sum_that_papers_print_and_computes_nothing_twice(pretended_meteor):
    scored = {
        one.metric: one
        for one in score(CANDIDATES, REFERENCES, metrics=["meteor", "bleu", "cider-d", "rouge-l", "bmrc"])
    }

    parts = [scored[name].scores for name in ("bleu-4", "meteor", "rouge-l", "cider-d")]
    assert scored["bmrc"].scores.corpus == pytest.approx(100 * sum(part.corpus for part in parts))
    np.testing.assert_allclose(scored["bmrc"].scores.per_image, 100 * sum(part.per_image for part in parts))
    assert scored["bmrc"].signature.get("cider") == "cider-d"
    assert pretended_meteor == ["en"]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"tokenizer": "characters"}, "text and tokens: whitespace-1 against characters-1+norm-1"),
        ({"normalise": True}, "text and tokens: whitespace-1 against whitespace-1+norm-1"),
        ({"frequencies": DocumentFrequencies.from_references([["a dog"], ["a cat"]])}, "document frequencies: "),
        ({"references": [["a dog runs"], ["two cats sleep"], ["a red boat"]]}, "references: "),
    ],
)  # fmt: skip
def test_what_a_score_was_computed_by_and_on_stands_in_its_signature(change, differs):
    given = {"references": REFERENCES, **change}
    [here] = score(CANDIDATES, REFERENCES, metrics=["cider-d"])
    [there] = score(CANDIDATES, metrics=["cider-d"], **given)

    [said] = differences(here.signature, there.signature)
    assert said.startswith(differs)


def test_the_language_stands_in_the_signature_where_it_has_a_say(pretended_meteor):
    def signature(metric, **options):
        return score(CANDIDATES, REFERENCES, metrics=[metric], **options)[0].signature

    assert signature("cider", language="de").get("lang") is None
    assert signature("cider", language="th", tokenizer="icu").get("lang") == "th"
    assert signature("meteor", language="de").get("lang") == "de"
    assert str(signature("meteor")).startswith("meteor|v:1.5|text:whitespace-1|lang:en|refs:")


def test_meteor_has_its_english_parameters_where_it_has_none_of_the_language_and_says_so(pretended_meteor):
    chinese = {one.metric: one for one in score(CANDIDATES, REFERENCES, metrics=["meteor", "bmrc"], language="zh")}
    [german] = score(CANDIDATES, REFERENCES, metrics=["meteor"], language="de", meteor_language="en")

    assert pretended_meteor == ["en", "en"]
    assert str(chinese["meteor"].signature).startswith("meteor|v:1.5|text:whitespace-1|lang:zh|params:en|refs:")
    for one in chinese.values():
        assert (one.signature.get("lang"), one.signature.get("params")) == ("zh", "en")
        assert one.notes == ("METEOR used the parameters of en for captions in zh.",)
    assert differences(chinese["meteor"].signature, german.signature) == ["languages: zh against de"]


def test_turkish_captions_that_differ_only_in_case_are_the_same_words():
    candidates, references = ["İki köpek", "Işıklı bir sokak"], [["iki köpek"], ["IŞIKLI bir sokak"]]
    [scored] = score(candidates, references, metrics=["bleu-1"], normalise=True, language="tr")

    assert scored.scores.corpus == pytest.approx(1)
    assert scored.signature.get("text") == "whitespace-1+norm-1.tr"


ALIKE = "is 0 by definition, whatever the captions are: the references of all images have the same n-grams"


@pytest.mark.parametrize("name", ["cider", "cider-d"])
@pytest.mark.parametrize(
    ("references", "said"),
    [
        ([["a dog runs"]], "is 0 by definition, whatever the captions are: there is only one image"),
        ([["a dog", "dogs"], ["dogs", "a dog"]], ALIKE),
        ([["a dog"], ["a cat"]], ""),
        # No caption has a word of its references, but one could.
        ([["cats"], ["boats"]], ""),
    ],
)
def test_a_cider_that_can_only_be_0_says_so(name, references, said):
    [scored] = score(["a dog"] * len(references), references, metrics=[name])

    assert bool(scored.notes) == bool(said)
    assert said in "".join(scored.notes)


def test_a_cider_by_document_frequencies_of_one_image_says_that_it_can_only_be_0():
    frequencies = DocumentFrequencies.from_references([["a dog", "cats"]])
    [scored] = score(["a dog", "cats"], [["a dog"], ["cats"]], metrics=["cider"], frequencies=frequencies)

    assert "is 0 by definition" in scored.notes[0]


@pytest.mark.parametrize(
    ("language", "text", "options", "is_warned"),
    [
        ("zh", "一只猫坐在垫子上", {}, True),
        ("ja", "犬が走っている。", {"normalise": True}, True),
        ("th", "เด็กผู้ชายกำลังเล่น อยู่ในสวนสาธารณะ กับสุนัขของเขา", {}, True),
        ("zh-Hant", "一隻貓坐在墊子上", {}, True),
        ("zh", "一 只 猫 坐 在 垫子 上", {}, False),
        ("zh", "一只猫坐在垫子上", {"tokenizer": "characters"}, False),
        ("ko", "개가 달린다", {}, False),
        ("nod", "一只猫坐在垫子上", {"spaced": False}, True),
        ("en", "ねこが寝ている", {}, True),
        ("en", "a cat 猫 sits on a mat", {}, False),
    ],
)
def test_words_that_no_spaces_separate_are_not_cut_at_spaces_without_a_warning(language, text, options, is_warned):
    scored = score([text, text], [[text], [text]], metrics=["bleu-1"], language=language, **options)

    assert [any("cut at spaces" in note for note in one.notes) for one in scored] == [is_warned]


def test_hidden_characters_that_keep_words_apart_are_told():
    [scored] = score(["a do\u200bg", "a cat"], [["a dog"], ["a cat", "\u2060"]], metrics=["bleu-1"])
    [clean] = score(["a dog", "a cat"], [["a dog"], ["a cat", "می\u200cرود"]], metrics=["bleu-1"])

    assert "1 of 2 candidates and 1 of 3 references have characters that nobody sees" in scored.notes[0]
    assert clean.notes == ()


def test_a_metric_that_reads_no_references_needs_none_and_names_none():
    made_by = {"english": "ab", "english_encoder": "tiny-en", "features_encoder": "tiny-1"}
    projections = VectorProjections("tiny-1", candidates=np.eye(3), images=np.eye(3), references=np.eye(3), **made_by)

    scored = score(CANDIDATES, None, metrics=["clinrel", "cmedrel"], projections=projections)

    assert [str(one.signature) for one in scored] == [
        "clinrel|v:1|encoder:tiny-1+tiny-en|english:ab",
        "cmedrel|v:1|encoder:tiny-1",
    ]
    with pytest.raises(MissingInputError, match="no references"):
        score(CANDIDATES, None, metrics=["bleu"])


def test_the_order_of_the_images_changes_neither_signature_nor_figures():
    [here] = score(CANDIDATES, REFERENCES, metrics=["cider-d"])
    [there] = score(CANDIDATES[::-1], REFERENCES[::-1], metrics=["cider-d"])

    assert there.signature == here.signature
    assert there.scores.corpus == pytest.approx(here.scores.corpus)
    np.testing.assert_allclose(there.scores.per_image[::-1], here.scores.per_image)


def test_wmdrel_is_the_mean_over_the_references_of_an_image_with_one_z_for_all_models():
    [scored] = score(CANDIDATES, [["dog", "red"], ["boat"], ["boat"]], metrics=["wmdrel"], vectors=Directions())

    # "dog" is "dog", and a right angle from "red"; half of "two cats" is at a right angle from "boat"; "" has no word.
    apart = np.sqrt(2) / 2
    np.testing.assert_allclose(scored.scores.per_image, [1 - apart / 2, 1 - apart / 2, 0.0])
    assert scored.scores.corpus == pytest.approx(scored.scores.per_image.mean())
    assert (scored.signature.get("z"), scored.signature.get("vectors")) == ("2", "ab" * 32)


def test_relevance_by_projections_and_its_sum():
    projections = VectorProjections(
        "tiny-1", candidates=[[1, 0], [1, 1], [2, 0]], references=[[1, 0]] * 3, images=[[0, 1], [1, 0], [1, 0]]
    )
    metrics = ["wcc", "wmdrel", "clinrel", "cmedrel"]
    scored = {
        one.metric: one
        for one in score(CANDIDATES, REFERENCES, metrics=metrics, vectors=Directions(), projections=projections)
    }

    half = np.sqrt(0.5)
    np.testing.assert_allclose(scored["clinrel"].scores.per_image, [1, half, 1])
    np.testing.assert_allclose(scored["cmedrel"].scores.per_image, [0, half, 1])
    parts = [scored[name].scores.per_image for name in metrics[1:]]
    np.testing.assert_allclose(scored["wcc"].scores.per_image, 100 * np.sum(parts, axis=0))
    assert scored["wcc"].signature.get("encoder") == "tiny-1"
    assert scored["wcc"].signature.get("z") == "2"


@pytest.mark.parametrize("name", ["wmdrel", "clinrel", "cmedrel", "wcc"])
def test_what_a_metric_needs_must_be_given(name):
    with pytest.raises(MissingInputError, match="needs"):
        score(CANDIDATES, REFERENCES, metrics=[name])


def test_features_of_images_are_only_needed_for_what_looks_at_images():
    projections = VectorProjections("tiny-1", candidates=np.eye(3), references=np.eye(3))

    [scored] = score(CANDIDATES, REFERENCES, metrics=["clinrel"], projections=projections)
    assert scored.scores.corpus == 1
    with pytest.raises(MissingInputError, match="features of the images"):
        score(CANDIDATES, REFERENCES, metrics=["cmedrel"], projections=projections)


def test_unknown_names_are_told_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(scoring, "prepare", None)

    with pytest.raises(UnknownMetricError, match=r"no metric 'spice'\. There are: cider, cider-d, bleu"):
        score(CANDIDATES, REFERENCES, metrics=["bleu", "spice"])
    assert metric_named("bleu-2") is METRICS["bleu"]


def test_captions_that_cannot_be_scored_are_refused_before_they_are_tokens():
    with pytest.raises(ValueError, match="a single text"):
        prepare(["a"], ["a"])
