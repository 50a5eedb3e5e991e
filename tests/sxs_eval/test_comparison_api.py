"""What researchers' programs read of comparisons: the same figures and rows as pages and files."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from core.people.models import Membership, Role
from sxs_eval.models import Comparison, RaterStatus
from sxs_eval.selectors.pairs import PairsShown
from tests.api.seeded import Program
from tests.clients import client_of
from tests.exported import exported_text
from tests.factories import NOW, join_project, make_captioner, make_comparison, make_rater, make_user
from tests.sxs_eval.judged import judge_all, judged_once, keys_of, report, results, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    made = make_comparison(replication=1)
    keys = keys_of(made)
    judge_all(made, make_rater(made, "rita"), {key: number % 3 for number, key in enumerate(keys[:-1])})
    return made


@pytest.fixture
def rho(comparison) -> Program:
    return Program(join_project(comparison.project, make_user("rho"), Role.RESEARCHER))


def at(name: str, comparison: Comparison, *more: object) -> str:
    return reverse(f"api:{name}", args=[comparison.project.slug, *more])


def test_comparisons_come_with_their_models_and_their_progress(comparison, rho):
    (row,) = rho.all_of(at("comparison-list", comparison))
    assert (row["base_model"], row["test_model"]) == (comparison.base.name, comparison.test.name)
    assert row["progress"]["done"] == row["progress"]["wanted"] - 1
    assert rho.get(at("comparison-show", comparison, comparison.pk)).json() == row
    assert rho.all_of(at("comparison-list", comparison), language=comparison.language_id) == [row]
    refused = rho.get(at("comparison-list", comparison), language="fr")
    assert list(refused.json()["errors"]) == ["language"]


def test_results_are_those_of_the_report_and_looking_at_them_is_recorded(comparison, rho):
    answer = rho.get(at("comparison-results", comparison, comparison.pk)).json()
    expected = json.loads(json.dumps(report(comparison).as_json()))
    assert answer == {"images": "", **expected}
    comparison.refresh_from_db()
    assert comparison.looks == [len(keys_of(comparison)) - 1]


def test_results_of_all_comparisons_have_the_ranking_of_models(comparison, rho):
    third = make_captioner(comparison.collection, "third", language=comparison.language_id)
    judged_once(comparison.project, comparison.collection, comparison.base, third, [1, -1, 2])
    answer = rho.get(at("results-show", comparison)).json()
    overall = results(comparison.project)
    row = answer["results"][0]
    assert (row["comparison"], row["gain"]) == (overall.results[0].comparison.pk, overall.results[0].gain.points)
    assert answer["ranking"] == json.loads(json.dumps(overall.ranking.as_json()))


def test_judgements_are_the_rows_of_the_file_page_by_page(comparison, rho):
    rows = rho.all_of(at("judgement-list", comparison), limit=2)
    of_file = [json.loads(line) for line in exported_text(comparison.project, "judgements").splitlines()]
    assert sorted(rows, key=str) == sorted((row for row in of_file if row["kind"] != "equal"), key=str)
    assert rho.all_of(at("judgement-list", comparison), comparison=comparison.pk) == rows
    answer = rho.get(at("judgement-list", comparison), comparison="x")
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["comparison"])


def test_pairs_are_those_of_the_page_with_their_judgements(comparison, rho):
    comparison.judgements.filter(pk=comparison.judgements.first().pk).update(comment="Odd.")
    page = client_of(comparison.project.created_by)
    for show in PairsShown.values:
        shown = page.get(reverse("sxs_eval:pair-list", args=[comparison.project.slug, comparison.pk]), {"show": show})
        expected = {
            pair.pk: (outcome, [(rater, one.score, one.comment, why) for one, rater, why in answers])
            for pair, outcome, answers in shown.context["pairs"]
        }
        rows = rho.all_of(at("pairs-add", comparison, comparison.pk), show=show, limit=1)
        assert {
            row["id"]: (row["outcome"], [tuple(one.values()) for one in row["judgements"]]) for row in rows
        } == expected
        assert {(row["base"], row["test"]) for row in rows} == {
            (pair.base_caption.text, pair.test_caption.text) for pair, _outcome, _answers in shown.context["pairs"]
        }
    assert "wins" in rho.get(at("pairs-add", comparison, comparison.pk), show="x").json()["errors"]["show"][0]


def test_judgements_that_somebody_withdrew_are_not_there(comparison, rho):
    person = comparison.judgements.first().person
    RaterStatus.objects.create(comparison=comparison, person=person, state="withdrawn", decided_at=NOW)
    comparison.judgements.filter(person=person).update(comment="Odd.")
    assert rho.all_of(at("judgement-list", comparison)) == []
    pairs = rho.all_of(at("pairs-add", comparison, comparison.pk))
    assert [row["judgements"] for row in pairs] == [[]] * comparison.pairs.count()
    assert rho.all_of(at("pairs-add", comparison, comparison.pk), show="comments") == []


def test_whoever_judges_images_of_the_project_reads_no_judgements_meanwhile(comparison):
    rater = make_rater(make_comparison(project=comparison.project, language="fr"), "raf")
    Membership.objects.create(project=comparison.project, user=rater, role=Role.RESEARCHER)
    program = Program(rater)
    french = Comparison.objects.get(language="fr")
    take(french, rater)
    for where in (at("judgement-list", comparison), at("pairs-add", comparison, french.pk)):
        answer = program.get(where)
        assert (answer.status_code, answer.json()["code"]) == (409, "images-assigned")
