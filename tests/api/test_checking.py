"""What managers say about captions by the API, as on the page of checks."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotation.models import GlossRequest, SpotCheck
from core.allocation.models import BatchState
from research.inference.backends import registry
from research.inference.models import Translator
from tests.annotation.submitting import submit_captions
from tests.api.seeded import WRITTEN, Program, Seeded, make_seeded
from tests.api.test_work import address, code
from tests.factories import make_annotator, make_round
from tests.inference import fake_backend

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


def patch(program: Program, where: str, **sent: Any) -> Any:
    return program.client.patch(where, sent, content_type="application/json", headers=program.headers)


def test_a_finding_is_recorded_and_what_is_not_sent_stays(seeded, mia):
    caption = seeded.main.captions.first()
    where = address("caption-check", "lions", caption.pk)
    assert patch(mia, where, level="BAD").status_code == 200
    assert patch(mia, where, is_rating_right=False).status_code == 200
    check = SpotCheck.objects.get()
    assert (check.level, check.is_rating_right) == ("BAD", False)
    patch(mia, where, level=None)
    check.refresh_from_db()
    assert (check.level, check.is_rating_right) == ("", False)


def test_feedback_reaches_the_author_and_a_caption_is_returned_once(seeded, mia):
    # That of the main round is being verified, and is not returned.
    round = make_round(project=seeded.project, language="cs")
    cid = make_annotator(round, "cid")
    submit_captions(round, cid, WRITTEN, now=timezone.now())
    caption = round.captions.first()
    made = mia.post(address("caption-feedback", "lions", caption.pk), text="Name the animals.")
    assert (made.status_code, made.json()["caption"]) == (201, caption.pk)
    own = Program(cid).all_of(address("own-feedback-list"))
    assert [row["text"] for row in own] == ["Name the animals."]
    returned = mia.post(address("caption-return", "lions", caption.pk), text="Too short.")
    assert returned.json()["state"] == "returned"
    assert code(mia.post(address("caption-return", "lions", caption.pk), text="Again.")) == (409, "feedback-refused")


def test_an_unfinished_batch_is_taken_back_once(seeded, mia):
    where = address("batch-take-back", "lions", seeded.rating.pk)
    assert mia.post(where).json()["places"] > 0
    seeded.rating.lease.refresh_from_db()
    assert seeded.rating.lease.state == BatchState.RETURNED
    assert code(mia.post(where)) == (409, "batch-closed")


def test_only_managers_say_so(seeded):
    ann, caption = Program(seeded.ann), seeded.main.captions.first()
    assert code(ann.post(address("caption-return", "lions", caption.pk), text="No.")) == (404, "not-found")
    assert code(ann.post(address("batch-take-back", "lions", seeded.writing.pk))) == (404, "not-found")


def test_captions_are_translated_for_managers_and_the_translations_deleted(seeded, mia, monkeypatch):
    monkeypatch.setattr(registry, "OWN_TRANSLATORS", (*registry.OWN_TRANSLATORS, fake_backend.TRANSLATOR))
    translator = Translator.objects.create(name="Fake", backend="fake", source="x", project=seeded.project)
    where = address("glosses-show", "lions", "de")
    assert mia.client.get(where, headers=mia.headers).json()["translator"] is None
    assert mia.post(where, translator=translator.pk + 1).status_code == 422

    asked = mia.post(where, translator=translator.pk, keeps_up=True)

    assert asked.status_code == 202
    assert asked.json() | {"waiting": 0} == {
        "translator": translator.pk, "keeps_up": True, "made": 0, "failed": 0, "waiting": 0
    }  # fmt: skip
    job = mia.client.get(asked["Location"], headers=mia.headers).json()
    assert (job["state"], job["results"]) == ("queued", [where])
    assert mia.client.delete(where, headers=mia.headers).status_code == 204
    assert not GlossRequest.objects.exists()
