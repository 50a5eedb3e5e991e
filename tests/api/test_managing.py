"""What managers' programs change: rounds step by step, invitations and collections, by the services of the pages."""

from __future__ import annotations

import pytest

from annotation.models import RoundState
from core.images.models import Collection
from core.people.models import AuditEntry
from core.people.selectors.audit_log import sentence_of_entry
from tests.api.seeded import Program, Seeded, make_failed_release, make_seeded
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


def test_the_audit_log_is_read_page_by_page_and_filtered_as_on_its_page(seeded, mia):
    mia.post(address("round-step", "lions", seeded.main.pk, "close"), assigned="let-finish")
    where = address("log-list", "lions")
    rows = mia.all_of(where, limit="1")
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    (closed,) = mia.all_of(where, action="round.closed", person=seeded.manager.username)
    entry = AuditEntry.objects.get(action="round.closed")
    assert (closed["number"], closed["by"], closed["about"]) == (entry.number, seeded.manager.username, entry.about)
    assert (closed["details"], closed["said"]) == (entry.details, sentence_of_entry(entry))
    assert mia.all_of(where, until="2020-01-01") == []
    wrong = mia.get(where, person="nobody", since="today", action="round.painted").json()["errors"]
    assert sorted(wrong) == ["action", "person", "since"]


def test_what_needs_a_manager_is_listed_and_what_failed_is_taken_off(seeded, mia):
    release = make_failed_release(seeded.project)

    def failed() -> list[str]:
        listed = [
            (one["project"], need) for one in mia.get(address("need-list")).json()["results"] for need in one["needs"]
        ]
        return [need["about"] for project, need in listed if project == "lions" and need["kind"] == "failure"]

    assert failed() == [f"release:{release.pk}"]
    where = address("need-dismiss")
    assert list(mia.post(where).json()["errors"]) == ["about"]
    assert [mia.post(where, about=f"release:{release.pk}").status_code for _time in range(2)] == [204, 204]
    assert failed() == []
    assert code(Program(seeded.ann).get(address("need-list"))) == (404, "not-found")
