"""`manage.py plan_evaluations`: what it prints, for people and for programs, with a database and without."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.db import OperationalError

from sxs_eval.management.commands import plan_evaluations
from sxs_eval.rules.pace import JudgingPace
from tests.commands import output_of
from tests.factories import make_collection, make_project
from tests.selection.placing import make_subset

SCORES = """language,model,xm3600,coco,note
zh,A,50,60,x
zh,B,52,61,x
de,A,50,60,x
de,B,50.5,61,x
fr,A,50,60,x
fr,B,60,80,x
sw,A,50,,x
"""
TWO = ["--sets", "xm3600", "coco"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(SCORES)
    return path


def run(file: Path, *options: str) -> str:
    return output_of("plan_evaluations", file, *options)


def as_json(file: Path, *options: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(run(file, *TWO, "--pace", "20", "--json", *options))
    return plan


def test_the_table_tells_each_pair_with_both_differences_the_reasons_and_the_cost(file):
    lines = [" ".join(line.split()) for line in run(file, *TWO, "--pace", "20").splitlines()]

    for line in (
        "Sets of references: A is xm3600, B is coco. Differences are test − base.",
        "Core languages: zh, en, hi, es. A difference is small below 1 score points.",
        "Note: No model has scores in en, hi, es, so no session is planned there.",
        "Note: Columns not used: note.",
        "Proposed: 2",
        "zh A B +2 +1 core language",
        "de A B +0.5 +1 small difference",
        "Clear, no session needed: 1",
        "fr A B +10 +20",
        "Undecided because scores are missing: 1",
        "sw A B – –",
        "A in sw lacks: coco.",
        "B has no scores in sw.",
        "Cost, at 20 s per judgement (as entered):",
        "per session 1 600 1800 0 10.0",
        "in total 2 1200 3600 0 20.0",
        "Power. Images: 600. Judgements of each: 3. Raters: 10.",
        "Which gain to expect of a pair is unknown until it is judged: a difference of scores is none.",
    ):
        assert line in lines


def test_the_same_for_programs_has_keys_that_stay(file):
    plan = as_json(file)
    power = plan.pop("power")
    assert (power["images"], power["raters"], power["replication"]) == (600, 10, 3)
    assert power["spread"] == {
        "image": 20.0, "rater": 6.0, "rest": 40.0, "source": "prior", "judgements": 0, "raters": 0
    }  # fmt: skip
    assert [seen["points"] for seen in power["seen"]] == [3.0, 5.0, 8.0]
    assert {*power["seen"][0]} == {"points", "these_raters", "other_raters"}
    assert [row["replication"] for row in power["equal_cost"]] == [1, 2, 3, 5]
    assert {*power["smallest_gain"]} == {"these_raters", "other_raters"}
    for session in [*plan["sessions"], *plan["clear"], *plan["unscored"]]:
        assert session.pop("expected_gain") is None
    assert plan == {
        "sets": ["xm3600", "coco"],
        "core": ["zh", "en", "hi", "es"],
        "thresholds": {"small": 1.0, "small_percent": None},
        "replication": 3,
        "attention_percent": 0,
        "pace": {"seconds": 20.0, "source": "given", "judgements": 0},
        "sessions": [
            {"language": "zh", "base": "A", "test": "B", "differences": [2.0, 1.0], "reasons": ["core"]},
            {"language": "de", "base": "A", "test": "B", "differences": [0.5, 1.0], "reasons": ["small"]},
        ],
        "clear": [{"language": "fr", "base": "A", "test": "B", "differences": [10.0, 20.0], "reasons": []}],
        "unscored": [{"language": "sw", "base": "A", "test": "B", "differences": [None, None], "reasons": []}],
        "missing": [
            {"language": "sw", "model": "A", "sets": ["coco"]},
            {"language": "sw", "model": "B", "sets": ["xm3600", "coco"]},
        ],
        "core_without_scores": ["en", "hi", "es"],
        "every_difference_is_small": False,
        "ignored_columns": ["note"],
        "per_session": {"images": 600, "judgements": 1800, "attention_items": 0, "hours": 10.0, "hours_within": None},
        "totals": {
            "images": 1200,
            "judgements": 3600,
            "attention_items": 0,
            "hours": 20.0,
            "hours_within": None,
            "sessions": 2,
        },
    }


def languages_of(plan: dict[str, Any]) -> list[str]:
    return [session["language"] for session in plan["sessions"]]


def test_core_languages_and_thresholds_can_be_chosen(file):
    assert languages_of(as_json(file, "--core", "")) == ["de"]
    assert languages_of(as_json(file, "--core", "FR,iw,fr", "--small", "0.5")) == ["fr"]
    assert as_json(file, "--core", "FR,iw,fr")["core"] == ["fr", "he"]
    assert languages_of(as_json(file, "--core", "", "--small", "1.01")) == ["de", "zh"]


def test_a_threshold_in_percent_stands_in_place_of_the_one_in_points_unless_both_are_given(file):
    percent = as_json(file, "--core", "", "--small-percent", "2")
    both = as_json(file, "--core", "", "--small-percent", "0.5", "--small", "1.5")

    assert percent["thresholds"] == {"small": 0.0, "small_percent": 2.0}
    assert languages_of(percent) == ["de", "zh"]
    assert languages_of(as_json(file, "--core", "", "--small-percent", "0.5")) == []
    assert languages_of(both) == ["de", "zh"]


def test_the_shortest_pace_that_the_command_names_is_taken(file):
    assert json.loads(run(file, *TWO, "--pace", "0.1", "--json"))["pace"]["seconds"] == 0.1


def test_the_cost_follows_images_replication_attention_and_pace(file):
    plan = as_json(file, "--images", "100", "--replication", "2", "--attention-percent", "15", "--pace", "36")

    assert plan["per_session"] == {
        "images": 100, "judgements": 200, "attention_items": 30, "hours": 2.3, "hours_within": None
    }  # fmt: skip
    assert plan["totals"]["hours"] == 4.6


@pytest.mark.django_db
def test_the_images_of_a_subset_are_counted_for_the_cost(file):
    project, collection = make_project("lions"), make_collection(5)
    make_subset(project, "xm3", [entry.image for entry in collection.entries.all()[:3]])
    plan = as_json(file, "--project", "lions", "--images", "subset:xm3")
    assert (plan["per_session"]["images"], plan["per_session"]["judgements"]) == (3, 9)
    for options, said in (
        (["--images", "subset:xm3"], "needs --project"),
        (["--project", "lions", "--images", "region"], "another number of images in each language"),
        (["--project", "lions", "--images", "in:PL"], "No image is left by --images in:PL"),
        (["--project", "lions", "--images", "subset:none"], "no subset “none”"),
        (["--project", "tigers"], "no project 'tigers'"),
        (["--images", "0"], "must be a whole number from 1"),
        (["--images", "some"], "is not a term of an image filter"),
    ):
        with pytest.raises(CommandError, match=said):
            run(file, *TWO, *options)


@pytest.mark.django_db
def test_with_too_few_judgements_the_pace_is_assumed_and_that_is_said(file):
    make_project()

    assert "at 20 s per judgement (assumed: there are fewer than 20 judgements to measure it from)" in run(file, *TWO)


@pytest.mark.django_db
def test_a_measured_pace_is_used_and_said(file, monkeypatch):
    monkeypatch.setattr(plan_evaluations, "measured_pace", lambda: JudgingPace(12.5, 340, 4, 8.0, 2.0))

    assert "at 12.5 s per judgement (the mean of 340 judgements)" in run(file, *TWO)
    plan = json.loads(run(file, *TWO, "--json"))
    assert plan["pace"] == {"seconds": 12.5, "source": "measured", "judgements": 340}
    assert (plan["per_session"]["hours"], plan["per_session"]["hours_within"]) == (6.25, 3.197)
    assert "per session 1 600 1800 0 6.2 ± 3.2" in [" ".join(line.split()) for line in run(file, *TWO).splitlines()]


def test_without_a_database_or_with_an_empty_one_the_pace_is_assumed(file, monkeypatch):
    def no_such_table() -> None:
        raise OperationalError("no such table")

    monkeypatch.setattr(plan_evaluations, "measured_pace", no_such_table)
    assert "at 20 s per judgement (assumed: the database could not be reached)" in run(file, *TWO)
    monkeypatch.setattr(plan_evaluations, "_is_database_missing", lambda: True)
    assert "(assumed: there is no database to measure it from)" in run(file, *TWO)


@pytest.mark.long(reason="the same by manage.py itself")
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.process
@pytest.mark.sqlite
def test_without_a_database_or_with_an_empty_one_it_plans_all_the_same(file, tmp_path, is_there):
    var = tmp_path / "var"
    var.mkdir()
    database = var / "crosslens.sqlite3"
    if is_there:
        database.touch()
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "plan_evaluations", str(file), *TWO],
        env=environment | {"CROSSLENS_VAR": str(var)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    why = "the database could not be reached" if is_there else "there is no database to measure it from"
    assert f"at 20 s per judgement (assumed: {why})" in done.stdout
    assert "Proposed: 2" in done.stdout
    assert database.exists() == is_there


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there are 3 columns: xm3600, coco, note"),
        (["--sets", "xm3600", "note"], "line 2: note is “x”."),
        ([*TWO, "--small", "-1"], "must be a number from 0"),
        ([*TWO, "--small", "nan"], "must be a number from 0"),
        ([*TWO, "--core", "zh,d"], "'d' is not a BCP-47 language tag"),
        ([*TWO, "--images", "0"], "must be a whole number from 1"),
        ([*TWO, "--pace", "0"], "must be a number from 0.1"),
        ([*TWO, "--pace", "20", "--raters", "2"], "--replication 3 needs as many --raters, not 2."),
    ],
)
def test_what_does_not_fit_is_told(file, options, message):
    with pytest.raises(CommandError, match="(?s)" + message.replace("(", r"\(")):
        run(file, *options)


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.csv", "The file cannot be read"), ("scores.xlsx", "The name of the file must end in one of .csv")],
)
def test_a_file_that_is_not_there_or_of_unknown_kind_is_named(tmp_path, name, message):
    with pytest.raises(CommandError, match=re.escape(f"{name}: {message}")):
        run(tmp_path / name)
