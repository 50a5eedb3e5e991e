"""Signatures: written and read, and what two of them say differently."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.signatures import MalformedSignatureError, Signature, differences, references_digest, together

CIDER = Signature.of("cider-d", {"v": 1, "text": "whitespace-1", "n": 4, "lang": None, "refs": "3f2a00000000"})


def test_a_signature_is_one_line_that_is_read_back():
    assert str(CIDER) == "cider-d|v:1|text:whitespace-1|n:4|refs:3f2a00000000"
    assert Signature.parse(f" {CIDER}\n") == CIDER
    assert CIDER.get("n") == "4"
    assert CIDER.get("lang") is None


@pytest.mark.long(reason="at least three others run each of its lines")
@given(
    st.dictionaries(st.sampled_from(["a", "b", "refs", "encoder"]), st.text(st.characters(exclude_categories=["Cs"])))
)
def test_whatever_a_setting_holds_is_read_back(settings):
    signature = Signature.of("wcc", settings)

    assert Signature.parse(str(signature)) == signature
    assert "\n" not in str(signature)


@pytest.mark.parametrize("text", ["", "|v:1", "cider-d|v", "cider-d|:1", "cider-d|v:1|v:1", "cider-d|v:1|"])
def test_what_is_no_signature_is_refused(text):
    with pytest.raises(MalformedSignatureError, match="is no signature"):
        Signature.parse(text)


def test_scores_of_one_signature_may_be_compared():
    assert differences(CIDER, Signature.parse(str(CIDER))) == []


def test_the_order_of_settings_makes_no_difference():
    assert differences(CIDER, Signature(CIDER.metric, CIDER.settings[::-1])) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": "icu-78.3+norm-1"}, "text and tokens: whitespace-1 against icu-78.3+norm-1"),
        ({"refs": "77aa00000000"}, "references: 3f2a00000000 against 77aa00000000"),
        ({"seed": 7}, "seeds: not given against 7"),
        ({"encoder": "w2vv-1"}, "encoders: not given against w2vv-1"),
        ({"v": 2}, "versions of the metric: 1 against 2"),
    ],
)
def test_whatever_differs_is_named(change, said):
    other = Signature.of("cider-d", {**dict(CIDER.settings), **change})

    assert differences(CIDER, other) == [said]


def test_different_metrics_are_not_compared():
    assert differences(CIDER, Signature("cider", CIDER.settings)) == ["metrics: cider-d against cider"]


GAIN = Signature.of("sxs-majority", {"v": 2, "scale": 7, "complete": 6, "sample": "3f2a", "bootstrap": "10000/1"})


def test_of_several_figures_all_values_are_named_and_many_are_counted():
    scales = [Signature.of("sxs-majority", {**dict(GAIN.settings), "scale": points}) for points in (7, 5, 7)]
    assert differences(*scales) == ["points of the scale: 7 against 5"]
    sizes = [Signature.of("sxs-majority", {**dict(GAIN.settings), "drawn": images}) for images in range(4)]
    assert differences(*sizes) == ["images drawn at random: 4 different values"]


@pytest.mark.parametrize("change", [{"bootstrap": "10000/2"}, {"raters": 5}, {"complete": 5, "set-aside": 3}])
def test_what_only_makes_a_figure_more_certain_keeps_no_figures_apart(change):
    assert differences(GAIN, Signature.of("sxs-majority", {**dict(GAIN.settings), **change})) == []


def test_the_language_of_instructions_keeps_figures_apart():
    hindi, original = (
        Signature.of("sxs-majority", {**dict(GAIN.settings), "instructions-in": tag}) for tag in ("hi", "original")
    )
    assert differences(hindi, original) == ["languages of the instructions: hi against original"]
    assert differences(GAIN, original) == ["languages of the instructions: not given against original"]


def test_a_figure_from_several_has_all_their_settings_and_the_sum_of_their_images():
    other = Signature.of("sxs-majority", {**dict(GAIN.settings), "scale": 5, "gold": 10})
    assert str(together("sxs-pooled", {"v": 1}, [GAIN, other])) == (
        "sxs-pooled|v:1|comparisons:2|of:sxs-majority/2|scale:5+7|complete:12|sample:3f2a|gold:10+none"
    )
    apart = [GAIN, Signature.of("sxs-majority", {"v": 2, "sample": "9b1c"})]
    samples = {together("sxs-pooled", {}, parts).get("sample") for parts in (apart, apart[::-1])}
    assert len(samples) == 1
    assert samples.isdisjoint({"3f2a", "9b1c"})


def test_references_are_known_by_their_captions_whatever_their_order():
    references = [["a cat", "a dog"], ["a bird"], ["a cat", "a cat"]]
    shuffled = [list(reversed(texts)) for texts in references]
    random.Random(1).shuffle(shuffled)

    assert references_digest(shuffled) == references_digest(references)
    assert len(references_digest(references)) == 12


@pytest.mark.parametrize(
    "others",
    [
        [["a cat", "a dog"], ["a bird"]],
        [["a cat"], ["a dog", "a bird"], ["a cat", "a cat"]],
        [["a cat", "a dog"], ["a bird"], ["a cat"]],
        [["a cat", "a dog"], ["a birD"], ["a cat", "a cat"]],
        [["a cata dog"], ["a bird"], ["a cat", "a cat"]],
    ],
)
def test_other_references_have_another_name(others):
    assert references_digest(others) != references_digest([["a cat", "a dog"], ["a bird"], ["a cat", "a cat"]])
