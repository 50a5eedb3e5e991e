"""Studies of panels, what an hour costs, and tries at practice by the API."""

from __future__ import annotations

import pytest

from core.people.models import AnsweredRequest
from office.practice.models import PracticeAttempt
from tests.api.seeded import Program, Seeded, make_seeded
from tests.api.test_work import address
from tests.factories import NOW
from tests.practice.making import make_practice
from tests.recruitment.panel import CODES, SECRET, make_study
from tests.recruitment.prolific import TOKEN, Prolific, serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


def test_a_study_is_set_up_and_its_secrets_are_kept_in_no_answer(seeded, mia):
    where = address("study-list", "lions")
    study = {"name": "German", "languages": ["de"], "places": 3, "reward": 3, "rate": 9.5, **CODES}
    made = mia.client.post(
        where,
        study | {"webhook_secret": SECRET},
        content_type="application/json",
        headers=mia.headers | {"Idempotency-Key": "1"},
    )
    assert made.status_code == 201, made.json()
    assert (made.json()["person_parameter"], made.json()["rate"]) == ("PROLIFIC_PID", 9.5)
    token = seeded.project.studies.get().token
    kept = AnsweredRequest.objects.get().body
    assert not any(secret in kept for secret in (SECRET, token))
    one = f"{where}{made.json()['id']}/"
    shown = mia.get(one).json()
    assert token in shown["address"]
    changed = mia.patch(one, is_open=False).json()
    assert changed == made.json() | {"is_open": False}
    assert seeded.project.studies.get().webhook_secret == SECRET
    assert SECRET not in str(shown | changed)


def test_a_study_at_prolific_is_planned_checked_and_steered_and_no_answer_has_the_token(seeded, mia, settings):
    study = make_study(seeded.project)
    one = address("panel-show", "lions", study.pk)
    with serving(Prolific()) as settings.PROLIFIC_API:
        assert mia.put(address("prolific-token", "lions"), token=TOKEN).status_code == 204
        assert mia.get(one).status_code == 404
        planned = mia.patch(one, description="Describe images.", minutes=20, budget=12.6).json()
        check = mia.get(f"{one}check/").json()
        assert (check["cost"], check["fits"], check["body"]["reward"]) == (12.6, True, 300)
        assert mia.post(f"{one}publish/").json()["detail"] == "Make the draft first."
        made, published = (mia.post(f"{one}{action}/").json() for action in ("make", "publish"))
        assert (planned["steps"], made["steps"], published["left"]) == (["make"], ["publish"], 0)
        refused = mia.post(f"{one}places/", places=4)
        assert (refused.status_code, refused.json()["code"]) == (409, "panel-refused")
        assert mia.patch(one, budget=20).json()["left"] == 7.4
        assert mia.post(f"{one}pause/").json()["status"] == "PAUSED"
        assert TOKEN not in str([planned, check, made, published, mia.get(one).json()])


def test_rates_are_replaced_by_those_that_are_sent(seeded, mia):
    where = address("rates-show", "lions")
    rates = [
        {"language": None, "rate": 12.5, "currency": "EUR"},
        {"language": "de", "rate": 15.0, "currency": "EUR"},
    ]
    assert mia.put(where, results=rates).json() == {"results": rates}
    assert list(mia.put(where, results=[*rates, rates[0]]).json()["errors"]) == ["results"]
    assert list(mia.put(where, results=[{**rates[1], "language": "xx"}]).json()["errors"]) == ["results"]
    assert mia.put(where, results=rates[:1]).json() == mia.get(where).json() == {"results": rates[:1]}


def test_who_failed_writes_to_managers_and_gets_another_try(seeded, mia):
    practice = make_practice(seeded.project, tries=1)
    about = {"language_id": "en", "working_language_id": "de", "started_at": NOW, "finished_at": NOW, "passed": False}
    attempt = PracticeAttempt.objects.create(practice=practice, person=seeded.ann, **about)
    ann = Program(seeded.ann)
    (own,) = ann.all_of(address("own-try-list"))
    assert (own["id"], own["passed"], "is_forgiven" in own) == (attempt.pk, False, False)
    said = ann.put(address("practice-message", attempt.pk), text="The dog was a wolf.").json()
    assert said == own | {"message": "The dog was a wolf."}
    (listed,) = mia.all_of(address("try-list", "lions"))
    assert (listed["message"], listed["is_forgiven"], "ann-lions" in str(listed)) == (said["message"], False, False)
    assert mia.post(address("try-allow", "lions", attempt.pk)).json()["is_forgiven"] is True
