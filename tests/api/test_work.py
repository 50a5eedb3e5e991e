"""An annotator's whole way through the API, by the same rules as on the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Caption, CaptionState, Feedback, Rating, Verdict
from core.allocation.models import Assignment, Batch, BatchState
from core.people.models import Consent, User
from tests.api.seeded import Program, Seeded, make_seeded
from tests.clients import client_of
from tests.factories import make_annotator, make_round, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def ann(seeded: Seeded) -> Program:
    return Program(seeded.ann)


def address(name: str, *args: object) -> str:
    return reverse(f"api:{name}", args=args)


def code(answer: Any) -> tuple[int, str]:
    assert answer["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert set(told) >= {"type", "title", "status", "code", "detail", "errors"}
    assert told["status"] == answer.status_code
    return answer.status_code, told["code"]


def keys_within(value: Any) -> set[str]:
    """Names of fields that are not null, however deep."""
    if isinstance(value, dict):
        return {key for key, inner in value.items() if inner not in (None, [])} | keys_within(list(value.values()))
    return {key for inner in value for key in keys_within(inner)} if isinstance(value, list) else set()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_waits_for_one_is_said(seeded, ann):
    rounds = {row["round"]: row for row in ann.get(address("work-show")).json()["rounds"]}
    assert seeded.verification.pk not in rounds
    main = rounds[seeded.main.pk]
    assert (main["finished"], main["open_batch"], main["is_anything_left"]) == (1, None, True)
    assert rounds[seeded.rating.round_id]["open_batch"]["id"] == str(seeded.rating.pk)
    assert main["missing_requirements"] == []


@pytest.mark.postgres
def test_a_batch_goes_from_taking_it_to_handing_it_in(seeded, ann):
    batch = ann.post(address("batch-take", seeded.main.pk)).json()
    assert (batch["stage"], batch["state"], len(batch["items"])) == ("rate", "open", 3)
    assert all(item["english"] and item["text"] is None for item in batch["items"])
    assert ann.post(address("batch-take", seeded.main.pk)).json()["id"] == batch["id"]
    for item in batch["items"]:
        saved = ann.put(address("rating-save", batch["id"], item["position"]), rating="GOOD", active_ms=10)
        assert saved.json() == {"position": item["position"], "rating": "GOOD"}
    assert {item["rating"] for item in ann.get(address("batch-show", batch["id"])).json()["items"]} == {"GOOD"}

    opened = ann.post(address("writing-open", batch["id"]))
    assert opened["Clear-Site-Data"] == '"cache"'
    assert opened.json()["stage"] == "write"
    for item in batch["items"]:
        where = address("draft-save", batch["id"], item["position"])
        saved = ann.put(where, text=f"Ein Hund läuft, Bild {item['position']}", revision=0).json()
        assert saved["revision"] == 1
    assert saved["written"] == 3
    first = ann.post(address("batch-submit", batch["id"]))
    again = ann.post(address("batch-submit", batch["id"]))

    assert (first.status_code, first.json()["stage"]) == (200, "submitted")
    assert first.json() == again.json()
    texts = Caption.objects.filter(item__batch=batch["id"]).values_list("text", flat=True)
    assert sorted(texts) == [f"Ein Hund läuft, Bild {number}" for number in (1, 2, 3)]
    assert Caption.objects.filter(item__batch=batch["id"], state=CaptionState.COUNTED).count() == 3


def test_from_screen_2_on_nothing_of_screen_1_is_sent(seeded, ann):
    english = set(seeded.writing.items.values_list("english__text", flat=True))
    shown = ann.get(address("batch-show", seeded.writing.pk))
    assert not keys_within(shown.json()) & {"english", "rating"}
    assert not any(text in shown.content.decode() for text in english)
    rating = address("rating-save", seeded.writing.pk, 1)
    assert code(ann.put(rating, rating="BAD")) == (409, "stale-state")
    assert set(seeded.writing.items.values_list("rating", flat=True)) == {"GOOD"}


def test_the_same_text_again_changes_nothing_and_an_older_one_is_told_what_is_stored(seeded, ann):
    where = address("draft-save", seeded.writing.pk, 1)
    first = ann.put(where, text="Ein Hund", revision=0)
    assert ann.put(where, text="Ein Hund", revision=0).json() == first.json()
    refused = ann.put(where, text="Eine Katze", revision=0)
    assert code(refused) == (409, "stale-draft")
    assert (refused.json()["text"], refused.json()["revision"]) == ("Ein Hund", 1)


@pytest.mark.parametrize("text", [" Ein Hund\n", "", "\u0645\u0631\u062d\u0628\u0627", "a" * 10_000])
def test_a_text_is_kept_letter_for_letter(seeded, ann, text):
    assert ann.put(address("draft-save", seeded.writing.pk, 1), text=text, revision=0).status_code == 200
    assert seeded.writing.items.get(position=1).text == text


def test_what_cannot_be_kept_or_is_missing_is_refused_by_field(seeded, ann):
    where = address("draft-save", seeded.writing.pk, 1)
    too_long = ann.put(where, text="a" * 10_001, revision=0)
    assert code(too_long) == (422, "invalid")
    assert list(too_long.json()["errors"]) == ["text"]
    wrong = ann.put(where, text="a\0b", revision=-1, active_ms="soon")
    assert code(wrong) == (422, "invalid")
    assert set(wrong.json()["errors"]) == {"text", "revision", "active_ms"}
    assert set(ann.put(where).json()["errors"]) == {"text", "revision"}


def test_writing_opens_when_all_is_rated_and_not_before(seeded, ann):
    ann.put(address("rating-save", seeded.rating.pk, 1), rating="BAD")
    refused = ann.post(address("writing-open", seeded.rating.pk))
    assert code(refused) == (409, "unrated-images")
    assert set(refused.json()["errors"]) == {"2", "3"}
    assert code(ann.put(address("rating-save", seeded.rating.pk, 1), rating="SUPERB")) == (422, "invalid")


def test_a_text_saved_while_somebody_types_is_not_submitted_before_it_is_confirmed(seeded, ann):
    for position in (1, 2, 3):
        text, confirms = f"Ein Hund auf Wiese {position}", position != 2
        ann.put(address("draft-save", seeded.writing.pk, position), text=text, revision=0, confirms=confirms)
    refused = ann.post(address("batch-submit", seeded.writing.pk))
    assert (code(refused), set(refused.json()["errors"])) == ((409, "unconfirmed-captions"), {"2"})
    ann.put(address("draft-save", seeded.writing.pk, 2), text="Ein Hund auf Wiese 2", revision=1)
    assert ann.post(address("batch-submit", seeded.writing.pk)).json()["stage"] == "submitted"


def test_what_is_unfinished_is_not_submitted(seeded, ann):
    ann.put(address("draft-save", seeded.writing.pk, 2), text="Ein Hund auf der Wiese", revision=0)
    refused = ann.post(address("batch-submit", seeded.writing.pk))
    assert code(refused) == (409, "incomplete-batch")
    assert set(refused.json()["errors"]) == {"1", "3"}


def test_a_text_for_an_image_that_was_reported_is_refused_in_words(seeded, ann):
    Assignment.objects.filter(batch=seeded.writing.lease, position=1).update(state="reported")
    refused = ann.put(address("draft-save", seeded.writing.pk, 1), text="Ein Hund", revision=0)
    assert code(refused) == (409, "task-gone")
    assert refused.json()["detail"] == "This image is no longer assigned to you."


def test_returned_a_batch_is_empty_until_it_is_resumed(seeded, ann):
    returned = ann.post(address("batch-return", seeded.writing.pk)).json()
    assert (returned["state"], returned["items"]) == ("returned", [])
    where = address("draft-save", seeded.writing.pk, 1)
    assert code(ann.put(where, text="Ein Hund", revision=0)) == (410, "batch-returned")
    resumed = ann.post(address("batch-resume", seeded.writing.pk)).json()
    assert (resumed["state"], len(resumed["items"])) == ("open", 3)


def test_a_lease_that_ran_out_is_told_on_screen_1(seeded, ann):
    Batch.objects.filter(pk=seeded.rating.pk).update(deadline=timezone.now())
    assert code(ann.put(address("rating-save", seeded.rating.pk, 1), rating="BAD")) == (410, "lease-expired")
    assert ann.get(address("batch-show", seeded.rating.pk)).json()["items"] == []


def test_whoever_does_not_qualify_is_told_all_that_is_missing(seeded):
    user = make_annotator(seeded.main)
    Consent.objects.filter(user=user).delete()
    User.objects.filter(pk=user.pk).update(reads_english=False)
    refused = Program(user).post(address("batch-take", seeded.main.pk))
    assert code(refused) == (403, "not-qualified")
    assert set(refused.json()["errors"]) >= {"consent", "english"}


def test_a_round_that_is_closed_or_done_says_so(seeded, ann):
    round = make_round(project=seeded.project, language="cs", images=1, replication=1)
    seeded.ann.language_skills.create(language_id="cs", level="native")
    first = ann.post(address("batch-take", round.pk)).json()["id"]
    other = make_annotator(round)
    assert code(Program(other).post(address("batch-take", round.pk))) == (409, "no-tasks-left")
    assert Batch.objects.get(pk=first).state == BatchState.OPEN
    round.pool.is_open = False
    round.pool.save()
    assert code(Program(make_annotator(round)).post(address("batch-take", round.pk))) == (409, "pool-closed")


def test_feedback_is_read_and_acknowledged_before_more_work(seeded, ann):
    said = Feedback.objects.create(
        project=seeded.project, round=seeded.main, person=seeded.ann, text="More!", by=seeded.manager, at=timezone.now()
    )
    assert set(ann.post(address("batch-take", seeded.main.pk)).json()["errors"]) == {"feedback"}
    assert [row["text"] for row in ann.all_of(address("own-feedback-list"))] == ["More!"]
    first = ann.post(address("feedback-acknowledge", said.pk)).json()
    assert first["acknowledged_at"]
    assert ann.post(address("feedback-acknowledge", said.pk)).json() == first
    assert ann.post(address("batch-take", seeded.main.pk)).status_code == 200
    assert code(ann.post(address("feedback-acknowledge", seeded.feedback.pk))) == (404, "not-found")


def test_one_sees_what_one_submitted_and_nothing_of_others(seeded, ann):
    rows = ann.all_of(address("own-caption-list"), limit=2)
    assert {row["batch"] for row in rows} == {str(seeded.submitted.pk)}
    assert [row["position"] for row in rows] == [1, 2, 3]
    assert Program(make_user()).all_of(address("own-caption-list")) == []


def test_captions_are_rated_from_taking_to_submitting(seeded):
    rae = Program(seeded.rae)
    rounds = rae.get(address("rating-work-show")).json()["rounds"]
    assert [row["open_batch"]["id"] for row in rounds] == [str(seeded.to_rate.pk)]
    taken = rae.post(address("rating-batch-take", seeded.verification.pk))
    batch = taken.json()
    assert batch["id"] == str(seeded.to_rate.pk)
    assert all(caption["text"].startswith("Ein Bild") for caption in batch["captions"])
    assert "ann-lions" not in taken.content.decode()
    assert set(batch["captions"][0]) == {"position", "image", "text", "rating"}
    positions = [caption["position"] for caption in batch["captions"]]
    refused = rae.post(address("rating-batch-submit", batch["id"]))
    assert code(refused) == (409, "unrated-images")
    for position in positions:
        rae.put(address("verdict-save", batch["id"], position), rating="MEDIUM")
    first = rae.post(address("rating-batch-submit", batch["id"])).json()
    assert first == rae.post(address("rating-batch-submit", batch["id"])).json()
    assert (first["state"], first["captions"]) == ("done", [])
    assert set(Verdict.objects.filter(batch=batch["id"]).values_list("rating", flat=True)) == {Rating.MEDIUM}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_to_rate_are_returned_and_resumed(seeded):
    rae = Program(seeded.rae)
    assert rae.post(address("rating-batch-return", seeded.to_rate.pk)).json()["captions"] == []
    where = address("verdict-save", seeded.to_rate.pk, 1)
    assert code(rae.put(where, rating="GOOD")) == (410, "batch-returned")
    assert rae.post(address("rating-batch-resume", seeded.to_rate.pk)).json()["captions"]


def test_a_round_of_captions_to_rate_hands_out_nothing_to_write_nor_the_other_way_round(seeded):
    assert code(Program(seeded.ann).post(address("batch-take", seeded.verification.pk))) == (404, "not-found")
    assert code(Program(seeded.rae).post(address("rating-batch-take", seeded.main.pk))) == (404, "not-found")


def test_a_token_that_only_reads_changes_nothing(seeded):
    reader = Program(seeded.ann, may_write=False)
    assert reader.get(address("batch-show", seeded.writing.pk)).status_code == 200
    assert code(reader.post(address("batch-return", seeded.writing.pk))) == (403, "read-only-token")
    assert Batch.objects.get(pk=seeded.writing.pk).state == BatchState.OPEN


def test_a_browser_changes_something_only_with_its_csrf_token(seeded):
    browser = client_of(seeded.ann, enforce_csrf_checks=True)
    where = address("batch-return", seeded.writing.pk)
    assert browser.get(address("batch-show", seeded.writing.pk)).status_code == 200
    assert code(browser.post(where, content_type="application/json")) == (403, "not-allowed")
    browser.get(reverse("people:token-list"))
    token = browser.cookies["csrftoken"].value
    assert browser.post(where, content_type="application/json", headers={"X-CSRFToken": token}).status_code == 200


def test_images_are_fetched_with_the_token_that_their_addresses_came_with(seeded, ann, media):
    image = ann.get(address("batch-show", seeded.writing.pk)).json()["items"][0]["image"]
    where = image["sizes"][0]["address"]
    assert ann.get(where).status_code == 503  # not made yet, so that it is there
    assert Program(seeded.manager).get(where).status_code == 404
    assert Client().get(where).status_code == 404
    assert Client().get(where, headers={"Authorization": "Bearer clt_guessed"}).status_code == 404


def test_what_is_no_json_is_told_so(seeded, ann):
    where = address("draft-save", seeded.writing.pk, 1)
    broken = ann.client.put(where, "{", content_type="application/json", headers=ann.headers)
    assert code(broken) == (400, "malformed")
    form = ann.client.put(where, "text=a", content_type="text/plain", headers=ann.headers)
    assert code(form) == (415, "unsupported-media-type")
    listed = ann.client.put(where, [1], content_type="application/json", headers=ann.headers)
    assert code(listed) == (422, "invalid")
    assert code(ann.client.delete(where, headers=ann.headers)) == (405, "method-not-allowed")
    xml = ann.client.get(address("work-show"), headers={**ann.headers, "Accept": "text/xml"})
    assert code(xml) == (406, "not-acceptable")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_refusal_is_in_the_language_that_was_asked_for(seeded, ann):
    headers = {**ann.headers, "Accept-Language": "ar"}
    refused = ann.client.post(address("writing-open", seeded.rating.pk), headers=headers).json()
    assert any("\u0600" <= letter <= "\u06ff" for letter in refused["detail"])
