"""Second readers: whom a manager may ask, what they see and answer, and that nobody describes what they read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import IntegrityError
from django.urls import reverse

from annotation.models import Caption, CaptionState, Round, SecondReading
from annotation.selectors.feedback import to_read
from annotation.services.readings import ReaderRefusedError, ask_reader
from core.people.models import User
from tests.annotation.submitting import submit_captions, take
from tests.annotation.verifying import make_reviewer, make_verification
from tests.annotation.verifying import take as take_to_rate
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def make_written_round() -> Round:
    """Three images of which ann wrote captions; bea, who knows the language, has not begun."""
    round = make_round(images=3, replication=2)
    submit_captions(round, make_annotator(round, "ann"), "Was Ann sieht")
    make_annotator(round, "bea")
    return round


@pytest.fixture
def round(made_once) -> Round:
    return made_once(make_written_round)


@pytest.fixture
def manager(round) -> User:
    return round.project.created_by


@pytest.fixture
def bea(round) -> User:
    return User.objects.get(username="bea")


@pytest.fixture
def caption(round) -> Caption:
    return Caption.objects.earliest("pk")


def ask(caption: Caption, reader: User) -> SecondReading:
    return ask_reader(caption_id=caption.pk, reader=reader, by=caption.round.project.created_by, now=NOW)


def address(name: str, *args: Any) -> str:
    return reverse(f"annotation:{name}", args=args)


def test_a_manager_asks_and_reads_the_answer_beside_the_caption(round, manager, bea, caption):
    slug = round.project.slug
    client_of(manager).post(address("reader-ask", slug, caption.pk), {"reader": bea.pk})
    reading = SecondReading.objects.get()
    there = client_of(bea).get(address("work-show")).content.decode()
    assert address("reading-show", reading.pk) in there
    page = client_of(bea).get(address("reading-show", reading.pk)).content.decode()
    assert caption.text in page
    assert "ann" not in re.findall(r"\w+", page)
    assert caption.item.english.text not in page

    client_of(bea).post(address("reading-show", reading.pk), {"answer": "wrong", "comment": "Das ist ein Boot."})

    html = client_of(manager).get(address("check-show", slug, "de")).content.decode()
    assert "<strong>Wrong</strong>" in html
    assert "Das ist ein Boot." in html
    assert not caption.verdicts.exists()
    assert not to_read(bea)


def test_whoever_was_asked_neither_describes_the_image_nor_rates_the_caption(round, bea, caption):
    ask(caption, bea)

    images = set(take(round, bea).items.values_list("image", flat=True))

    assert len(images) == 2
    assert caption.image_id not in images
    rob = make_reviewer(make_verification(round, places=1), "rob")
    ask(caption, rob)
    rated = take_to_rate(Round.objects.latest("pk"), rob).verdicts.values_list("caption", flat=True)
    assert caption.pk not in rated


def test_whoever_has_the_image_in_a_batch_or_may_resume_it_is_not_asked(round, bea, caption):
    batch = take(round, bea)
    with pytest.raises(ReaderRefusedError, match="still has to write"):
        ask(caption, bea)
    client_of(bea).post(address("batch-return", batch.pk))
    with pytest.raises(ReaderRefusedError, match="still has to write"):
        ask(caption, bea)


def test_neither_the_author_nor_a_stranger_nor_somebody_without_the_language_is_asked(round, bea, caption):
    bea.language_skills.all().delete()
    for person in (caption.author, bea, make_user("eve")):
        with pytest.raises(ReaderRefusedError, match="Ask somebody else"):
            ask(caption, person)


def test_a_caption_that_does_not_count_is_not_shown_to_its_reader(round, bea, caption):
    reading = ask(caption, bea)
    assert client_of(make_annotator(round, "cem")).get(address("reading-show", reading.pk)).status_code == 404
    Caption.objects.filter(pk=caption.pk).update(state=CaptionState.RETURNED)
    assert client_of(bea).get(address("reading-show", reading.pk)).status_code == 404
    assert not to_read(bea)


def test_nobody_is_asked_twice_and_no_comment_is_without_an_answer(bea, caption):
    assert ask(caption, bea) == ask(caption, bea)
    with pytest.raises(IntegrityError):
        SecondReading.objects.update(comment="So!")
