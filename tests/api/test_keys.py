"""A request that is sent again with its key has happened once, whoever sends it at whatever moment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from core.images.models import ImportJob
from core.people.models import AnsweredRequest, Invitation, Project
from core.people.services.answered_requests import KEPT, forget_old
from tests.api.seeded import Program, make_seeded
from tests.api.test_work import address, code
from tests.concurrency import together
from tests.factories import make_project, make_user

RIVALS = 6


def program(project: Project, key: str) -> Program:
    made = Program(project.created_by)
    made.headers["Idempotency-Key"] = key
    return made


def invite(program: Program, **about: Any) -> Any:
    return program.post(address("invitation-list", "lions"), **({"role": "player", "places": 3} | about))


@pytest.mark.django_db
def test_a_request_with_the_same_key_gets_the_first_answer_and_makes_nothing():
    mia = program(make_project("lions"), "a-1")
    first, again = invite(mia), invite(mia)
    (made,), told = first.json()["results"], again.json()["results"]
    assert (first.status_code, again.status_code) == (201, 201)
    assert told == [made | {"link": None}]
    assert Invitation.objects.get().token in made["link"]
    assert Invitation.objects.count() == 1


@pytest.mark.django_db
def test_another_request_with_the_same_key_is_refused():
    mia = program(make_project("lions"), "a-1")
    invite(mia)
    assert code(invite(mia, places=4)) == (409, "key-reused")
    assert code(mia.post(address("collection-list"), project="lions", name="x")) == (409, "key-reused")
    assert Invitation.objects.count() == 1


@pytest.mark.django_db
def test_no_english_caption_is_kept_to_be_answered_again_once_writing_is_open():
    seeded = make_seeded()
    ann = Program(seeded.ann)
    ann.headers["Idempotency-Key"] = "a-1"
    batch = seeded.rating.pk
    items = ann.get(address("batch-show", batch)).json()["items"]
    ann.post(address("batch-return", batch))
    assert ann.post(address("batch-resume", batch)).json()["items"][0]["english"]
    for item in items:
        ann.put(address("rating-save", batch, item["position"]), rating="GOOD")
    opened = ann.post(address("writing-open", batch))
    assert opened.headers["Clear-Site-Data"] == '"cache"'
    again = ann.post(address("batch-resume", batch))
    assert not any(item["english"] in again.text for item in items)
    assert not AnsweredRequest.objects.exists()


@pytest.mark.django_db
def test_keys_are_of_the_person_who_sends_them():
    project = make_project("lions")
    invite(program(project, "a-1"))
    olga = Program(make_user("olga"))
    olga.headers["Idempotency-Key"] = "a-1"
    assert code(invite(olga)) == (404, "not-found")


@pytest.mark.django_db
def test_a_refused_request_may_be_corrected_and_sent_again_with_its_key():
    mia = program(make_project("lions"), "a-1")
    assert code(invite(mia, role="king")) == (422, "invalid")
    assert invite(mia).status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "two words", "x" * 201, "ö"])
def test_a_key_of_other_signs_is_refused(key):
    assert code(invite(program(make_project("lions"), key))) == (400, "malformed")
    assert not Invitation.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("media")
def test_files_are_told_apart_by_what_is_in_them():
    mia = program(make_project("lions"), "a-1")

    def send(content: bytes) -> Any:
        files = [SimpleUploadedFile("blip.jsonl", content)]
        return mia.client.post(address("import-list", "lions"), {"files": files}, headers=mia.headers)

    first, again = send(b"{}"), send(b"{}")
    assert (first.status_code, again.status_code) == (202, 202)
    assert first["Location"] == again["Location"]
    assert code(send(b"[]")) == (409, "key-reused")
    assert ImportJob.objects.count() == 1


@pytest.mark.django_db
def test_keys_are_forgotten_after_a_day():
    mia = program(make_project("lions"), "a-1")
    invite(mia)
    forget_old(now=timezone.now() + KEPT - timedelta(minutes=1))
    assert AnsweredRequest.objects.count() == 1
    forget_old(now=timezone.now() + KEPT)
    invite(mia)
    assert Invitation.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("has_key", "made"), [(True, 1), (False, RIVALS)], ids=["with a key", "control"])
def test_of_rivals_with_one_key_one_makes_something_and_all_get_its_answer(has_key, made):
    project = make_project("lions")
    programs = [program(project, "a-1") for _ in range(RIVALS)]
    if not has_key:
        for one in programs:
            del one.headers["Idempotency-Key"]
    answers = together(invite, programs)
    assert {answer.status_code for answer in answers} == {201}
    assert Invitation.objects.count() == made
    assert len({answer.json()["results"][0]["id"] for answer in answers}) == made
