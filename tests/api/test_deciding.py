"""What managers decide by the API about people, whom they name by the pseudonyms that answers have."""

from __future__ import annotations

from random import Random

import pytest
from django.utils import timezone

from core.people.rules.pseudonyms import pseudonym
from sxs_eval.models import Comparison, GoldPair, Judgement
from sxs_eval.services import judging
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import make_comparison, make_rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    made = make_comparison()
    rita = make_rater(made, "rita")
    judging.take_batch(comparison=made, person=rita, now=timezone.now(), rng=Random(1))
    first = Judgement.objects.order_by("position").first()
    judging.judge(
        batch_id=first.batch_id,
        person=rita,
        position=first.position,
        choice=0,
        comment="",
        active_ms=0,
        now=timezone.now(),
    )
    return made


@pytest.fixture
def mia(comparison: Comparison) -> Program:
    return Program(comparison.project.created_by)


def test_a_rater_is_paused_restored_and_excluded_for_good(comparison, mia):
    about = (comparison.project.slug, comparison.pk)
    (listed,) = mia.get(address("rater-list", *about)).json()["results"]
    assert (listed["state"], listed["judged"]) == ("", 1)
    where = address("rater-decide", *about, listed["rater"])

    def decided(**sent: str) -> str:
        answer = mia.post(where, **sent)
        assert answer.status_code == 200, answer.json()
        return answer.json()["state"]

    assert decided(decision="restore") == ""
    assert decided(decision="pause") == "paused"
    assert decided(decision="restore") == "restored"
    assert list(mia.post(where, decision="exclude").json()["errors"]) == ["note"]
    assert decided(decision="exclude", note="Only ever left.") == "excluded"
    assert decided(decision="restore") == "excluded"
    assert code(mia.post(address("rater-decide", *about, pseudonym(comparison.project, 0)), decision="pause")) == (
        404,
        "not-found",
    )


def test_gold_pairs_are_added_but_those_with_a_problem_and_switched_off(comparison, mia):
    where = address("gold-list", comparison.project.slug, comparison.pk)
    keys = comparison.collection.entries.values_list("key", flat=True)
    pair = {"better": "Ein Hund im Gras", "worse": "Ein Auto"}
    sent = [{"image": keys[0], **pair}, {"image": "nowhere.jpg", **pair}]
    before = GoldPair.objects.count()
    answer = mia.post(where, pairs=sent).json()
    assert (answer["added"], answer["already"]) == (1, 0)
    assert [problem["pair"] for problem in answer["problems"]] == [2]
    rows = mia.all_of(where)
    assert len(rows) == before + 1
    assert {row["image"]: row["better"] for row in rows}[keys[0]] == pair["better"]
    changed = mia.patch(f"{where}{rows[-1]['id']}/", is_used=False)
    assert changed.json() == rows[-1] | {"is_used": False}
