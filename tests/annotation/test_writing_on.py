"""After a text was refused a reload shows what is stored, and the page that says thank you leads to the next batch."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import CaptionBatch, CaptionItem, Stage
from core.allocation.models import Assignment, AssignmentState
from tests.annotation.submitting import submit_captions, take, write
from tests.clients import client_of
from tests.factories import make_annotator, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db
TOO_LONG = "Katze " * 1700


@kept
def batch() -> CaptionBatch:
    round = make_round(images=4, batch_size=2)
    annotator = make_annotator(round)
    batch = take(round, annotator, now=timezone.now())
    write(batch, annotator, "Eine Katze", now=timezone.now())
    return batch


@pytest.fixture
def writer(batch: CaptionBatch) -> Client:
    return client_of(batch.lease.person)


def page_of(batch: CaptionBatch) -> str:
    return reverse("annotation:caption-write", args=[batch.pk, 1])


@pytest.mark.parametrize(("text", "revision"), [(TOO_LONG, 1), ("Ein Hund", 0)], ids=["refused", "stale"])
def test_a_text_that_is_not_stored_is_shown_once_with_the_reason(
    batch: CaptionBatch, writer: Client, text: str, revision: int
) -> None:
    answer = writer.post(page_of(batch), {"text": text, "revision": revision, "active_ms": 0})
    assert (answer.status_code, answer["Location"]) == (302, page_of(batch))
    shown = writer.get(answer["Location"]).content.decode()
    assert 'role="alert"' in shown
    assert text.strip()[:40] in shown
    again = writer.get(answer["Location"]).content.decode()
    assert 'role="alert"' not in again
    assert "Eine Katze 1" in again
    assert text.strip()[:40] not in again


def test_what_was_refused_for_one_image_is_not_shown_at_another(batch: CaptionBatch, writer: Client) -> None:
    writer.post(page_of(batch), {"text": TOO_LONG, "revision": 1, "active_ms": 0})
    other = writer.get(reverse("annotation:caption-write", args=[batch.pk, 2])).content.decode()
    assert 'role="alert"' not in other
    assert "Eine Katze 2" in other


@pytest.mark.long(reason="at least three others run each of its lines")
def test_thanks_lead_to_the_next_batch_as_long_as_there_is_one(batch: CaptionBatch, writer: Client) -> None:
    writer.post(reverse("annotation:batch-submit", args=[batch.pk]))
    done = reverse("annotation:batch-done", args=[batch.pk])
    taking = reverse("annotation:batch-take", args=[batch.round_id])
    assert taking in writer.get(done).content.decode()
    submit_captions(batch.round, batch.lease.person, now=timezone.now())
    assert taking not in writer.get(done).content.decode()


def autosave(writer: Client, batch: CaptionBatch, position: int, text: str) -> None:
    address = reverse("annotation:draft-save", args=[batch.pk, position])
    saved = writer.post(address, {"text": text, "revision": 1}).json()
    assert (saved["state"], saved["is_autosaved"], saved["written"]) == ("saved", True, 1)


def submit(writer: Client, batch: CaptionBatch) -> str:
    writer.post(reverse("annotation:batch-submit", args=[batch.pk]))
    batch.refresh_from_db()
    return batch.stage


def test_work_goes_on_at_the_text_that_was_only_typed_and_next_confirms_it(batch: CaptionBatch, writer: Client) -> None:
    where = reverse("annotation:batch-show", args=[batch.pk])
    autosave(writer, batch, 2, "Eine Katze auf")
    assert writer.get(where)["Location"] == reverse("annotation:caption-write", args=[batch.pk, 2])
    assert submit(writer, batch) == Stage.WRITE
    on_2 = reverse("annotation:caption-write", args=[batch.pk, 2])
    for go, stage in [("previous", Stage.WRITE), ("review", Stage.WRITE), ("finish", Stage.SUBMITTED)]:
        writer.post(on_2, {"text": "Eine Katze auf dem Sofa", "revision": 2 if go == "previous" else 3, "go": go})
        assert submit(writer, batch) == stage, go


@pytest.mark.parametrize(("changed", "stage"), [(False, Stage.SUBMITTED), (True, Stage.WRITE)])
def test_the_review_confirms_the_captions_that_it_listed_as_it_showed_them(
    batch: CaptionBatch, writer: Client, changed: bool, stage: str
) -> None:
    autosave(writer, batch, 2, "Eine Katze auf")
    review = writer.get(reverse("annotation:batch-review", args=[batch.pk])).content.decode()
    listed = re.search('<div[^>]* id="unconfirmed".*?</form>', review, re.DOTALL)
    assert listed
    assert re.findall(r"Image \d", listed[0]) == ["Image 2"]
    assert re.search('<button[^>]*aria-describedby="submit-help"[^>]* disabled', review)
    assert "Available once every image has a confirmed caption." in review
    if changed:
        CaptionItem.objects.filter(batch=batch, position=2).update(text="Eine Katze auf d", revision=3)
    seen = re.findall(r'name="seen" value="([^"]+)"', review)
    writer.post(reverse("annotation:captions-confirm", args=[batch.pk]), {"seen": [*seen, "x", "1-", "99999999999-1"]})
    assert submit(writer, batch) == stage


def content_of(page: str) -> str:
    """What stands on a page of screen 2 apart from its frame, and from the tokens, which differ each time."""
    content = re.search('<div class="write__top">.*</dialog>', page, re.DOTALL)
    assert content
    return re.sub(r'(name="csrfmiddlewaretoken" value)="[^"]+"', r"\1", content[0])


def save_and_ask(batch: CaptionBatch, writer: Client, ahead: str) -> str:
    saved = {"text": "Ein Hund", "revision": 1, "active_ms": 0, "ahead": ahead}
    answer = writer.post(reverse("annotation:draft-save", args=[batch.pk, 1]), saved)
    assert answer.status_code == 200
    assert CaptionItem.objects.get(batch=batch, position=1).text == "Ein Hund"
    brought = answer.json()["ahead"]
    assert isinstance(brought, str)
    return brought


def test_a_save_brings_the_page_of_the_image_that_comes_after_as_that_page_is(
    batch: CaptionBatch, writer: Client
) -> None:
    brought = save_and_ask(batch, writer, "2")
    page = writer.get(reverse("annotation:caption-write", args=[batch.pk, 2])).content.decode()
    assert content_of(brought) == content_of(page)
    assert "Eine Katze 2" in brought
    assert "site-header" not in brought
    assert not any(item.english.text in brought for item in batch.items.select_related("english"))


def report_at(batch: CaptionBatch, position: int) -> str:
    return reverse("conversation:report-send", args=["captions", batch.pk, position])


def test_without_scripts_a_text_is_saved_before_its_image_is_reported(batch: CaptionBatch, writer: Client) -> None:
    shown = writer.get(page_of(batch)).content.decode()
    assert '<button type="submit" name="report" value="1" form="write" formnovalidate>' in shown
    answer = writer.post(page_of(batch), {"text": "Ein Hund", "revision": 1, "report": "1"})
    assert answer["Location"] == report_at(batch, 1)
    item = CaptionItem.objects.get(batch=batch, position=1)
    assert (item.text, item.is_autosaved) == ("Ein Hund", True)


def test_a_text_that_cannot_be_saved_is_there_again_after_a_question(batch: CaptionBatch, writer: Client) -> None:
    answer = writer.post(page_of(batch), {"text": "Ein Hund", "revision": 0, "report": "1"})
    assert answer["Location"] == report_at(batch, 1)
    asked = writer.post(report_at(batch, 1), {"ask": "1", "comment": "Which dog?"}, follow=True)
    assert asked.redirect_chain[-1][0] == page_of(batch)
    assert ">Ein Hund</textarea>" in asked.content.decode()


class TestAnImageThatIsGone:
    """It was reported in another tab, or reassigned after the deadline."""

    @pytest.fixture(autouse=True, params=[AssignmentState.REPORTED, AssignmentState.REASSIGNED])
    def gone(self, request: pytest.FixtureRequest, batch: CaptionBatch) -> None:
        Assignment.objects.filter(batch=batch.lease, position=1).update(state=request.param)

    def test_without_scripts_its_text_is_shown_with_the_reason(self, batch: CaptionBatch, writer: Client) -> None:
        answer = writer.post(page_of(batch), {"text": "Ein Hund", "revision": 1, "go": "following"})
        assert answer.status_code == 409
        assert "This image is no longer assigned to you." in answer.content.decode()
        assert "Ein Hund" in answer.content.decode()
        assert CaptionItem.objects.get(batch=batch, position=1).text == "Eine Katze 1"

    def test_without_scripts_and_without_a_text_one_goes_on_with_the_rest(
        self, batch: CaptionBatch, writer: Client
    ) -> None:
        answer = writer.post(page_of(batch), {"text": " ", "revision": 1}, follow=True)
        assert answer.redirect_chain[-1][0] == reverse("annotation:caption-write", args=[batch.pk, 2])
        assert "This image is no longer assigned to you." in answer.content.decode()

    def test_the_script_is_told_and_where_to_go_on(self, batch: CaptionBatch, writer: Client) -> None:
        address = reverse("annotation:draft-save", args=[batch.pk, 1])
        answer = writer.post(address, {"text": "Ein Hund", "revision": 1}, headers={"accept": "application/json"})
        assert answer.status_code == 409
        said = {"state": "task-gone", "message": "This image is no longer assigned to you."}
        assert answer.json() == said | {"location": reverse("annotation:batch-show", args=[batch.pk])}


@pytest.mark.parametrize("ahead", ["", "3", "x"])
def test_a_save_brings_nothing_where_there_is_no_such_image(batch: CaptionBatch, writer: Client, ahead: str) -> None:
    assert save_and_ask(batch, writer, ahead) == ""


def test_a_save_brings_no_image_that_somebody_else_has_by_now(batch: CaptionBatch, writer: Client) -> None:
    Assignment.objects.filter(batch=batch.lease, position=2).update(state=AssignmentState.REASSIGNED)
    assert save_and_ask(batch, writer, "2") == ""
