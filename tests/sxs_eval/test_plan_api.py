"""The plan of comparisons by the API: the proposals of the page, their cost and power, and making those chosen."""

from __future__ import annotations

import pytest

from sxs_eval.models import Comparison
from tests.api.seeded import Program
from tests.api.test_work import address
from tests.sxs_eval.planning import form_of, keys_of, page_of, rows_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("models")]
NUMBERS = {"small": 1.0, "subset": 3, "seed": 7, "replication": 3, "gold_percent": 10, "repeat_percent": 5, "scale": 7}


@pytest.fixture
def mia(project) -> Program:
    return Program(project.created_by)


def test_a_program_gets_the_proposals_of_the_page_with_their_cost_and_power(manager, mia, project, collection):
    page = manager.post(page_of(project), form_of(collection))
    answer = mia.post(address("plan-propose", project.slug), **(form_of(collection) | NUMBERS))
    assert answer.status_code == 200, answer.json()
    told = answer.json()
    assert [pair["key"] for pair in told["pairs"] if pair["is_suggested"]] == keys_of(page)
    one = next(pair for pair in told["pairs"] if pair["reasons"] == ["signs"])
    row, _is_ticked = rows_of(page)["de", "Alpha", "Beta"]
    assert (one["base_model"], one["differences"], one["comparison"]) == ("Alpha", [2.0, -5.0], None)
    assert (one["images"], one["judgements"], one["attention_items"]) == (3, row.cost.judgements, row.cost.attention)
    assert told["suggested"]["hours"] == pytest.approx(page.context["ticked"].hours)
    assert told["suggested"]["pay"] is None
    assert (told["power"]["images"], told["seed"], told["sets"]) == (3, 7, ["xm3600", "coco"])
    assert told["missing"] == page.context["missing"]
    assert not Comparison.objects.exists()


def test_what_is_chosen_of_a_plan_starts_once(mia, project, collection):
    where, sent = address("plan-start", project.slug), form_of(collection) | NUMBERS
    wrong = mia.post(where, **sent, sessions=["de:0:0"])
    assert list(wrong.json()["errors"]) == ["sessions"]
    pairs = mia.post(address("plan-propose", project.slug), **sent).json()["pairs"]
    suggested = [pair["key"] for pair in pairs if pair["is_suggested"]]
    assert list(mia.post(where, **sent).json()["errors"]) == ["sessions"]
    unseeded = {name: value for name, value in sent.items() if name != "seed"}
    assert list(mia.post(where, **unseeded, sessions=suggested).json()["errors"]) == ["seed"]
    made = mia.post(where, **sent, sessions=suggested)
    assert made.status_code == 202, made.json()
    assert [(row["language"], row["chosen_by"]) for row in made.json()["results"]] == [("zh", ""), ("de", "*")]
    assert len(mia.get(made["Location"]).json()["results"]) == 2
    pairs = mia.post(address("plan-propose", project.slug), **sent).json()["pairs"]
    keys = [pair["key"] for pair in pairs if pair["comparison"]]
    again = mia.post(where, **sent, sessions=keys)
    assert (again.status_code, again.json()) == (200, {"results": [], "already": 2})


def test_a_figure_that_nothing_is_scored_by_is_refused(mia, project, collection):
    refused = mia.post(address("plan-propose", project.slug), collection=collection.slug, figure="cider")
    assert list(refused.json()["errors"]) == ["figure"]
