"""What managers' programs change: rounds step by step, invitations and collections, by the services of the pages."""

from __future__ import annotations

import pytest

from annotation.models import RoundState
from core.images.models import Collection
from tests.api.seeded import Program, Seeded, make_seeded
from tests.api.test_work import address, code

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


def test_a_round_is_closed_once_and_what_happens_to_its_batches_is_asked(seeded, mia):
    where = address("round-step", "lions", seeded.main.pk, "close")
    answer = mia.post(where, assigned="let-finish")
    assert (answer.status_code, answer.json()["state"]) == (200, "closed")
    seeded.main.refresh_from_db()
    assert seeded.main.state == RoundState.CLOSED
    assert code(mia.post(where, assigned="let-finish")) == (409, "step-refused")
    assert code(mia.post(address("round-step", "lions", seeded.main.pk, "paint"))) == (404, "not-found")
    refused = mia.post(address("round-step", "lions", seeded.main.pk, "reopen"), assigned="burn")
    assert "let-finish" in refused.json()["errors"]["assigned"][-1]


def test_only_managers_take_steps(seeded):
    where = address("round-step", "lions", seeded.main.pk, "close")
    assert code(Program(seeded.ann).post(where)) == (404, "not-found")


def test_a_manager_invites_one_link_per_language(seeded, mia):
    where = address("invitation-list", "lions")
    answer = mia.post(where, role="annotator", languages=["de", "fr"], links="each", places=3)
    assert answer.status_code == 201
    made = [(row["languages"], row["places"], row["state"]) for row in answer.json()["results"]]
    assert sorted(made) == [
        (["de"], 3, "open"),
        (["fr"], 3, "open"),
    ]
    refused = mia.post(where, role="annotator")
    assert list(refused.json()["errors"]) == ["languages"]
    assert seeded.project.invitations.count() == 2


def test_a_manager_makes_a_collection_and_no_second_one_of_its_name(mia):
    made = mia.post(address("collection-list"), project="lions", name="Savanna")
    assert (made.status_code, made.json()["project"], made.json()["size"]) == (201, "lions", 0)
    assert list(mia.post(address("collection-list"), project="lions", name="Savanna").json()["errors"]) == ["name"]
    assert Collection.objects.filter(name="Savanna").count() == 1
