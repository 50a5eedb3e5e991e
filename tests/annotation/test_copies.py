"""The hint about captions that are almost the English ones: in time for whoever writes, useless for whoever tries."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Caption, CaptionBatch, CaptionItem, Rating, Stage
from annotation.services import batches
from annotation.services.corrections import return_for_correction
from core.people.models import User
from tests.annotation.submitting import take
from tests.api.seeded import Program
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db

HINT = "almost the same as what was shown on the first screen"
OWN = "Ein Boot liegt am Strand"


@kept
def batch() -> CaptionBatch:
    round = make_round(images=3, batch_size=3)
    ann = make_annotator(round, "ann")
    taken = take(round, ann)
    for position in (1, 2, 3):
        batches.save_rating(batch_id=taken.pk, person=ann, position=position, rating=Rating.GOOD, active_ms=0, now=NOW)
    batches.open_writing(batch_id=taken.pk, person=ann, now=NOW)
    return CaptionBatch.objects.get(pk=taken.pk)


@pytest.fixture
def ann(batch: CaptionBatch) -> User:
    return User.objects.get(username="ann")


@pytest.fixture
def signed_in(ann: User) -> Client:
    return client_of(ann)


def english(batch: CaptionBatch, position: int) -> str:
    return batch.items.get(position=position).english.text


def write(batch: CaptionBatch, ann: User, *texts: str) -> None:
    for position, text in enumerate(texts, start=1):
        item = CaptionItem.objects.get(batch=batch, position=position)
        about: dict[str, Any] = {"position": position, "text": text, "revision": item.revision, "active_ms": 0}
        batches.save_draft(batch_id=batch.pk, person=ann, now=NOW, **about)


def submit(signed_in: Client, batch: CaptionBatch, **sent: str) -> Any:
    return signed_in.post(reverse("annotation:batch-submit", args=[batch.pk]), sent)


def is_submitted(batch: CaptionBatch) -> bool:
    return CaptionBatch.objects.get(pk=batch.pk).stage == Stage.SUBMITTED


def test_while_one_writes_nothing_says_how_close_a_text_is(batch, ann, signed_in):
    write(batch, ann, OWN, OWN + " am Abend", OWN + " am Morgen")
    copy = {"text": english(batch, 1), "revision": 1}
    drafted = signed_in.post(reverse("annotation:draft-save", args=[batch.pk, 1]), copy)
    assert drafted.json()["warnings"] == []
    for name, *args in (("caption-write", 1), ("caption-write", 2), ("batch-review",)):
        assert HINT not in signed_in.get(reverse(f"annotation:{name}", args=[batch.pk, *args])).content.decode()
    program = Program(ann)
    address = reverse("api:draft-save", args=[batch.pk, 2])
    assert program.put(address, text=english(batch, 2), revision=1).json()["warnings"] == []
    shown = program.get(reverse("api:batch-show", args=[batch.pk])).json()
    assert [item["warnings"] for item in shown["items"]] == [[], [], []]


def test_on_submitting_one_is_told_which_and_submits_all_the_same(batch, ann, signed_in):
    write(batch, ann, english(batch, 1), OWN, english(batch, 3))

    told = submit(signed_in, batch)

    review = reverse("annotation:batch-review", args=[batch.pk])
    assert told["Location"] == review
    page = signed_in.get(review).content.decode()
    assert page.count(HINT) == 3  # at the head, and beside each
    assert "Image 1" in page.partition("<ol")[0]
    assert "Image 2" not in page.partition("<ol")[0]
    assert not is_submitted(batch)
    # It stays with the texts it is about, on the page of each, too.
    assert HINT in signed_in.get(reverse("annotation:caption-write", args=[batch.pk, 1])).content.decode()

    submit(signed_in, batch, copies_seen="yes")
    assert is_submitted(batch)
    codes = Caption.objects.order_by("item__position").values_list("warnings", flat=True)
    assert list(codes) == [["copied"], [], ["copied"]]


def test_a_second_click_is_answered_like_the_first(batch, ann, signed_in):
    write(batch, ann, english(batch, 1), OWN, OWN + " am Abend")
    review = reverse("annotation:batch-review", args=[batch.pk])
    assert [submit(signed_in, batch)["Location"] for _click in range(3)] == [review] * 3
    assert not is_submitted(batch)


def test_who_changes_what_was_told_submits_without_a_further_word(batch, ann, signed_in):
    write(batch, ann, english(batch, 1), OWN, OWN + " am Abend")
    submit(signed_in, batch)
    write(batch, ann, "Zwei Hunde")
    assert HINT not in signed_in.get(reverse("annotation:batch-review", args=[batch.pk])).content.decode()
    submit(signed_in, batch)
    assert is_submitted(batch)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_one_batch_gives_one_answer_for_each_caption_and_no_more(batch, ann, signed_in):
    """Tries: a text that is close and one that is not, in the place of what was told and in others."""
    write(batch, ann, english(batch, 1), OWN, OWN + " am Abend")
    submit(signed_in, batch)
    told = [CaptionItem.objects.get(batch=batch, position=position).copied_revision for position in (1, 2, 3)]
    close = english(batch, 2)
    for text in (close, close + " x", OWN, close):
        write(batch, ann, english(batch, 1) + text[-1], text)
        page = signed_in.get(reverse("annotation:batch-review", args=[batch.pk])).content.decode()
        assert HINT not in page
    assert [CaptionItem.objects.get(batch=batch, position=position).copied_revision for position in (1, 2, 3)] == told
    submit(signed_in, batch)
    assert is_submitted(batch)
    # Who reads what was handed in knows.
    assert Caption.objects.get(item__position=2).warnings == ["copied"]


def test_programs_are_told_by_a_code_and_say_that_they_have_seen_it(batch, ann):
    program, address = Program(ann), reverse("api:batch-submit", args=[batch.pk])
    write(batch, ann, OWN, english(batch, 2), OWN + " am Abend")

    told = program.post(address)

    assert (told.status_code, told.json()["code"], list(told.json()["errors"])) == (409, "near-copy", ["2"])
    assert english(batch, 2) not in told.content.decode()
    assert program.post(address).status_code == 409
    assert program.post(address, copies_seen=True).json()["stage"] == "submitted"


def test_a_caption_that_is_written_anew_is_recorded_without_a_word(batch, ann, signed_in):
    write(batch, ann, OWN, OWN + " am Abend", OWN + " am Morgen")
    batches.submit_batch(batch_id=batch.pk, person=ann, now=NOW)
    caption = Caption.objects.get(item__position=1)
    return_for_correction(caption_id=caption.pk, by=batch.round.project.created_by, note="Say more.", now=NOW)

    answer = signed_in.post(reverse("annotation:caption-rewrite", args=[caption.pk]), {"text": english(batch, 1)})

    assert answer.status_code == 302
    caption.refresh_from_db()
    assert caption.warnings == ["copied"]
