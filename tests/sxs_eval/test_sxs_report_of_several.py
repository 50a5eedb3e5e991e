"""`manage.py sxs_report` of several comparisons: pooled, ranked, told apart, and corrected for how many they are."""

from __future__ import annotations

import math

import pytest

from crosslens_metrics.undefined import UndefinedReason
from tests.sxs_eval.test_sxs_report_command import models_file, run, run_json


def test_comparisons_of_the_same_models_are_pooled_and_all_models_ranked(tmp_path):
    file = models_file(tmp_path / "models.csv")
    report = run_json(file, "--resamples", "200")

    assert len(report["comparisons"]) == 6
    by_name = {part["comparison"]: part["report"]["outcome"] for part in report["comparisons"]}
    for pooled in report["pooled"]:
        single = [by_name[name]["gain"]["points"] for name in pooled["comparisons"]]
        assert len(single) == 2
        assert pooled["figures"]["gain"]["points"] == pytest.approx(sum(single) / 2)
        assert (pooled["figures"]["images"], pooled["figures"]["outcomes"]) == (40, 80)
    assert [(part["base_model"], part["test_model"]) for part in report["pooled"]] == [
        ("m1", "m2"),
        ("m1", "m3"),
        ("m2", "m3"),
    ]
    (ranked,) = report["ranking"]["components"]
    assert ranked["models"][-1]["model"] == "m1"
    assert {model["bound"] for model in ranked["models"]} == {"judgements"}
    assert ranked["images"] == 40
    by_these, separable = (
        {frozenset((pair["stronger"], pair["weaker"])): pair[column] for pair in ranked["pairs"]}
        for column in ("separable_these", "separable")
    )
    assert by_these[frozenset({"m1", "m2"})] is True
    assert by_these[frozenset({"m2", "m3"})] is False
    text = run(file, "--resamples", "200")
    # The three raters always agree, which says little of others.
    assert set(separable.values()) == {False}
    assert text.count("  not separable (with these raters: separable): ") == 2
    assert "  Intervals: generalises to other images, with these 3 raters (Student’s t)\n" in text
    assert "never compared" not in text
    assert text.count("All comparisons (m2 against m1): m1-m2 hi, m1-m2 zh") == 1


def test_models_that_never_lost_or_never_won_are_ranked_and_marked(tmp_path):
    file = tmp_path / "unbeaten.csv"
    rows = [f"{base}{test},{base},{test},i,{who},1" for base, test in ("ab", "bc", "de") for who in "xyz"]
    file.write_text("\n".join(["comparison,base_model,test_model,image,rater,score", *rows]))

    first, second = run_json(file)["ranking"]["components"]

    assert [(model["model"], model["bound"]) for model in first["models"]] == [
        ("c", "never_lost"),
        ("b", "group"),
        ("a", "never_won"),
    ]
    # One image won, and half a win to each of one more: odds of 1.5 to 0.5 at each step.
    assert [model["strength"] for model in first["models"]] == pytest.approx([math.log(3), 0, -math.log(3)])
    assert [model["model"] for model in second["models"]] == ["e", "d"]
    assert second["pairs"][0]["interval"]["undefined"] == UndefinedReason.STRENGTH_UNBOUNDED
    text = run(file)
    assert "strengths in different groups cannot be compared" in text
    assert "(never lost)" in text


def test_two_models_need_no_ranking_and_no_models_none_either(tmp_path):
    file = tmp_path / "two.csv"
    file.write_text("comparison,image,rater,score\nhi,a,ann,1\nzh,a,ann,-1\n")
    report = run_json(file, "--replication", "1")
    assert report["ranking"] is None
    assert report["pooled"][0]["comparisons"] == ["hi", "zh"]
    assert report["pooled"][0]["figures"]["gain"]["points"] == 0
    assert report["pooled"][0]["incomplete"] == 0
    assert run_json(file)["pooled"][0]["incomplete"] == 2
    assert "Incomplete               2 " in run(file)


def test_comparisons_that_were_judged_differently_are_named_and_pooled_apart(tmp_path):
    file = tmp_path / "scales.csv"
    models = {"de": "m0,m1,7", "fr": "m1,m0,7", "hi": "m0,m1,5"}
    rows = [f"{name},{image},ann,2,{about}" for name, about in models.items() for image in "ab"]
    file.write_text("\n".join(["comparison,image,rater,score,base_model,test_model,scale", *rows]))
    report = run_json(file, "--replication", "1")
    assert report["unlike"] == ["points of the scale: 7 against 5"]
    (pooled,) = report["pooled"]
    assert (pooled["comparisons"], pooled["figures"]["unlike"]) == (["de", "fr"], [])
    start = "sxs-pooled|v:2|raters:1|bootstrap:10000/0|comparisons:2|of:sxs-majority/2|"
    assert pooled["figures"]["signature"].startswith(start)
    said = "These should not be compared, because they differ in points of the scale: 7 against 5."
    assert said in run(file, "--replication", "1")


def test_of_many_comparisons_p_is_corrected_for_all_of_them(tmp_path):
    file = tmp_path / "languages.csv"
    rows = [
        f"l{language},A,B,i{image},{who},{1 if image < (11 if language else 13) else -1}"
        for language in range(4)
        for image in range(16)
        for who in "xyz"
    ]
    file.write_text("\n".join(["comparison,base_model,test_model,image,rater,score", *rows]))
    found = run_json(file)["comparisons"]
    plain = [one["report"]["outcome"]["sign_test"]["p"] for one in found]
    assert plain == pytest.approx([0.0213, 0.2101, 0.2101, 0.2101], abs=0.0001)
    assert [one["p_holm"]["sign_test"] for one in found] == pytest.approx([0.0851, 0.6304, 0.6304, 0.6304], abs=0.0001)
    text = run(file)
    assert "p < 0.05 in 1 of 4, 0 by Holm" in text
    assert "Shared raters            3 " in text
