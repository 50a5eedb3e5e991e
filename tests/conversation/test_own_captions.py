"""What happened to somebody's captions, in numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from annotation.models import Rating, Release, Round, RoundKind, RoundState
from annotation.selectors.caption_summaries import CaptionSummary, summary_of
from annotation.services import batches
from annotation.services.corrections import return_for_correction
from core.jobs.models import JobState
from tests.annotation.submitting import submit_captions
from tests.annotation.submitting import take as take_to_write
from tests.annotation.verifying import make_reviewer, make_verification, rate, submit, take
from tests.clients import client_of
from tests.factories import NOW, join_project, make_annotator, make_round

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(days=1)


def test_captions_are_counted_as_rated_returned_and_released() -> None:
    round = make_round(images=3, replication=2, kind=RoundKind.MAIN)
    ann, bob = make_annotator(round), make_annotator(round)
    for person in (ann, bob):
        submit_captions(round, person)
    by = round.project.created_by
    assert by is not None
    returned = round.captions.filter(author=ann).latest("pk")
    return_for_correction(caption_id=returned.pk, note="Say more.", by=by, now=NOW)
    assert summary_of(ann) == CaptionSummary(submitted=3, rated=0, returned=1, released=0)

    rating = make_verification(round, places=1)
    reviewer = make_reviewer(rating)
    batch = take(rating, reviewer)
    assert batch is not None
    rate(batch, reviewer)
    assert summary_of(ann).rated == 0, "not submitted yet"
    submit(batch, reviewer)
    assert summary_of(ann).rated + summary_of(bob).rated == batch.verdicts.count()

    Round.objects.filter(pk=round.pk).update(state=RoundState.ACCEPTED, decided_at=NOW)
    about: dict[str, Any] = {"salt": "x", "until": LATER, "created_at": LATER, "created_by": by, "checksum": "c" * 64}
    Release.objects.create(project=round.project, number=1, title="One", state=JobState.DONE, **about)
    assert (summary_of(ann).released, summary_of(bob).released) == (2, 3)
    page = client_of(ann).get("/work/history/").content.decode()
    assert "In a release" in page
    assert client_of(bob).get("/api/v1/work/captions/summary/").json()["released"] == 3
    page = client_of(ann).get("/work/history/captions/").content.decode()
    assert (page.count("</li>") - page.count("<li><a"), page.count("In a release")) >= (3, 2)
    assert page.count("Returned for correction") == 1
    assert page.count("Rated by others") == summary_of(ann).rated
    assert "english caption" not in page
    mine = client_of(ann).get("/api/v1/work/captions/").json()["results"]
    assert [one["is_released"] for one in mine].count(True) == 2
    assert [one["id"] for one in mine if one["is_returned"]] == [returned.pk]


def test_no_row_says_a_word_of_others_or_an_english_caption_of_an_image_on_screen_2() -> None:
    written = make_round(images=1, replication=2, language="en")
    ann, bob = make_annotator(written), make_annotator(written)
    submit_captions(written, ann, "Ann saw a boat")
    submit_captions(written, bob, "Bob saw a dog")
    client, pages = client_of(ann), ("/work/history/captions/", "/api/v1/work/captions/")
    assert ["Ann saw" in client.get(page).content.decode() for page in pages] == [True, True]
    assert ["Bob saw" in client.get(page).content.decode() for page in pages] == [False, False]

    elsewhere = make_round(collection=written.collection)
    join_project(elsewhere.project, ann)
    ann.language_skills.get_or_create(language_id="de", level="native")
    batch = take_to_write(elsewhere, ann)
    who: dict[str, Any] = {"batch_id": batch.pk, "person": ann, "now": NOW}
    batches.save_ratings(ratings={1: Rating.GOOD}, **who)
    batches.open_writing(**who)
    assert ["Ann saw" in client.get(page).content.decode() for page in pages] == [False, False]
