"""A rater's program judges pairs as the page does: one after the other, without learning whose captions they are."""

from __future__ import annotations

import pytest

from core.people.models import User
from sxs_eval.models import Comparison, Judgement
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import make_comparison, make_rater, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    return make_comparison()


@pytest.fixture
def rita(comparison: Comparison) -> User:
    return make_rater(comparison, "rita")


def test_pairs_are_judged_in_their_order_and_the_last_answer_is_undone(comparison, rita):
    program = Program(rita)
    (work,) = program.get(address("comparing-work-show")).json()["comparisons"]
    assert (work["comparison"], work["open_batch"]) == (comparison.pk, None)
    batch = program.post(address("judging-batch-take", comparison.pk)).json()
    assert program.post(address("judging-batch-take", comparison.pk)).json()["id"] == batch["id"]
    assert set(batch["pair"]) == {"position", "image", "left", "right", "comment"}
    first = address("judgement-save", batch["id"], batch["pair"]["position"])
    choice = batch["scale"][0]["number"]
    after = program.put(first, choice=choice, comment="Clearer.").json()
    assert (after["answered"], after["undoable"]) == (1, batch["pair"]["position"])
    assert program.put(first, choice=choice).status_code == 200
    assert code(program.put(first, choice=-choice)) == (409, "stale-trial")
    assert program.delete(first).status_code == 204
    again = program.get(address("judging-batch-show", batch["id"])).json()
    assert (again["answered"], again["pair"]["position"]) == (0, batch["pair"]["position"])
    assert code(program.put(first, choice=42)) == (422, "not-on-scale")


def test_a_returned_batch_is_resumed_and_answers_stay(comparison, rita):
    program = Program(rita)
    batch = program.post(address("judging-batch-take", comparison.pk)).json()
    program.put(address("judgement-save", batch["id"], batch["pair"]["position"]), choice=0)
    returned = program.post(address("judging-batch-return", batch["id"])).json()
    assert (returned["is_open"], returned["pair"]) == (False, None)
    resumed = program.post(address("judging-batch-resume", batch["id"])).json()
    assert (resumed["is_open"], resumed["answered"]) == (True, 1)
    assert Judgement.objects.filter(choice=0).count() == 1


def test_nobody_else_finds_the_batch(comparison, rita):
    batch = Program(rita).post(address("judging-batch-take", comparison.pk)).json()
    olga = Program(make_user("olga"))
    assert code(olga.get(address("judging-batch-show", batch["id"]))) == (404, "not-found")
    assert code(olga.post(address("judging-batch-take", comparison.pk))) == (404, "not-found")
