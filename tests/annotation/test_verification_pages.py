"""Rating what others wrote, and the quality table, as pages: with and without scripts, one's own and nobody else's."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Caption, Round, RoundState, Verdict, VerificationBatch
from annotation.services import figures
from core.allocation.models import Assignment, AssignmentState, BatchState
from core.people.models import Consent, Membership, Role
from core.people.rules.pseudonyms import pseudonym
from office.recruitment.models import HourlyRate
from tests.annotation.test_quality_table import OPINIONS, rated_round
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, rate, submit, take
from tests.clients import client_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(made_once) -> Round:
    return made_once(make_two_times_captioned)


def make_two_times_captioned() -> Round:
    return make_verification(make_captioned_round(images=4, captions=2)[0])


@pytest.fixture
def rae(round):
    return make_reviewer(round, "rae")


@pytest.fixture
def client(rae) -> Client:
    return client_of(rae)


@pytest.fixture
def batch(round, rae) -> VerificationBatch:
    return take(round, rae, timezone.now())


def url_of(batch: VerificationBatch, name: str = "verification-show", *more: object) -> str:
    return reverse(f"annotation:{name}", args=[batch.pk, *more])


def all_rated(batch: VerificationBatch, level: str = "GOOD") -> dict[str, str]:
    return {f"rating-{position}": level for position in batch.verdicts.values_list("position", flat=True)}


def test_the_work_page_offers_captions_to_rate_and_takes_them(client, round):
    assert "Take captions to rate" in client.get(reverse("annotation:work-show")).content.decode()

    answer = client.post(reverse("annotation:verification-take", args=[round.pk]))

    batch = VerificationBatch.objects.get()
    assert answer.url == url_of(batch)
    page = client.get(reverse("annotation:work-show")).content.decode()
    assert url_of(batch) in page
    assert "5 captions are assigned to you" in page


def test_who_is_an_annotator_finds_the_captions_on_the_same_page_and_not_as_work_to_write(round):
    annotator = make_reviewer(round, role=Role.ANNOTATOR)

    page = client_of(annotator).get(reverse("annotation:work-show")).content.decode()

    assert page.count("Take captions to rate") == 1
    assert reverse("annotation:batch-take", args=[round.pk]) not in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_authors_are_not_offered_what_only_they_wrote():
    verified, (author,) = make_captioned_round(images=2, captions=1)
    round = make_verification(verified)
    Membership.objects.create(project=round.project, user=author, role=Role.ANNOTATOR)
    author.language_skills.create(language=round.language, level="native")
    Consent.objects.create(text=round.project.consent_texts.get(), user=author, given_at=timezone.now())

    page = client_of(author).get(reverse("annotation:work-show")).content.decode()

    assert "No work right now" in page


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("language", "direction"), [("ar", "rtl"), ("ja", "ltr")])
def test_the_captions_stand_in_their_language_and_direction_and_nothing_is_said_of_their_authors(language, direction):
    verified, authors = make_captioned_round(images=2, captions=1, language=language)
    round = make_verification(verified)
    reviewer = make_reviewer(round)
    batch = take(round, reviewer, timezone.now())

    answer = client_of(reviewer).get(url_of(batch))

    page = answer.content.decode()
    for caption in Caption.objects.filter(round=verified):
        assert f'lang="{language}" dir="{direction}" data-english>{caption.text}<' in page
    assert not any(author.username in page or pseudonym(round.project, author.pk) in page for author in authors)
    assert "What the levels mean" in page
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_level_is_saved_at_once_with_its_time_and_is_there_after_a_reload(client, batch):
    Assignment.objects.filter(batch=batch.pk).update(state=AssignmentState.ASSIGNED)
    VerificationBatch.objects.get(pk=batch.pk).lease.__class__.objects.update(
        taken_at=timezone.now() - timedelta(minutes=5)
    )

    answer = client.post(url_of(batch, "verdict-save", 2), {"rating": "MEDIUM", "active_ms": "4200"})

    assert answer.json() == {"state": "saved"}
    verdict = batch.verdicts.get(position=2)
    assert (verdict.rating, verdict.rating_ms) == ("MEDIUM", 4200)
    assert 'value="MEDIUM" aria-describedby="level-3" checked' in client.get(url_of(batch)).content.decode()


def test_what_is_no_level_is_refused_and_names_the_levels(client, batch):
    answer = client.post(url_of(batch, "verdict-save", 1), {"rating": "SUPERB"})

    assert answer.status_code == 422
    assert "NOT-ENOUGH-INFO" in answer.json()["message"]


def test_without_scripts_some_are_saved_first_and_all_submitted_later(client, batch, round):
    client.post(url_of(batch), {"rating-1": "GOOD", "rating-9": "GOOD", "rating-2": "SUPERB"})
    assert [verdict.rating for verdict in batch.verdicts.all()] == ["GOOD", "", "", "", ""]
    refused = client.post(url_of(batch), {"open": "1"}, follow=True)
    assert "Not rated yet: 2, 3, 4, 5." in refused.content.decode()

    done = client.post(url_of(batch), {**all_rated(batch), "open": "1"}, follow=True)

    assert "5 captions are rated." in done.content.decode()
    batch.lease.refresh_from_db()
    assert batch.lease.state == BatchState.DONE
    assert client.get(url_of(batch)).url == url_of(batch, "verification-done")
    again = client.post(url_of(batch, "verdict-save", 1), {"rating": "BAD"})
    assert (again.status_code, again.json()["location"]) == (409, url_of(batch))


def test_the_page_after_submitting_has_no_caption(client, batch, rae):
    rate(batch, rae, now=timezone.now())
    submit(batch, rae, timezone.now())

    page = client.get(url_of(batch, "verification-done")).content.decode()

    assert not any(text in page for text in Caption.objects.values_list("text", flat=True))


def test_when_the_time_ran_out_a_rating_is_kept_and_the_way_back_is_offered(client, batch, round, rae):
    batch.lease.__class__.objects.update(deadline=timezone.now() - timedelta(seconds=1))

    answer = client.post(url_of(batch, "verdict-save", 1), {"rating": "BAD"})
    away = client.get(url_of(batch)).content.decode()

    assert (answer.status_code, answer.json()["state"]) == (410, "lease-expired")
    assert batch.verdicts.get(position=1).rating == "BAD"
    assert url_of(batch, "verification-resume") in away
    assert not any(text in away for text in Caption.objects.values_list("text", flat=True))
    assert client.post(url_of(batch, "verification-resume")).url == url_of(batch)
    assert 'value="BAD" aria-describedby="level-4" checked' in client.get(url_of(batch)).content.decode()


def test_submitting_late_is_told(client, batch, rae):
    rate(batch, rae, now=timezone.now())
    batch.lease.__class__.objects.update(deadline=timezone.now() - timedelta(seconds=1))

    page = client.post(url_of(batch), {"open": "1"}, follow=True).content.decode()

    assert "marked as late" in page
    assert set(Assignment.objects.values_list("state", flat=True)) >= {AssignmentState.LATE}


def test_a_batch_is_returned_and_resumed(client, batch):
    assert (
        "Other people can then rate its captions" in client.get(url_of(batch, "verification-return")).content.decode()
    )
    client.post(url_of(batch, "verification-return"))
    assert url_of(batch, "verification-resume") in client.get(url_of(batch)).content.decode()
    assert client.post(url_of(batch, "verdict-save", 1), {"rating": "BAD"}).status_code == 410

    client.post(url_of(batch, "verification-resume"))

    assert "Submit" in client.get(url_of(batch)).content.decode()


def test_a_closed_round_says_so_and_who_may_not_rate_is_given_the_reasons(client, round, rae):
    Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED)

    page = client.post(reverse("annotation:verification-take", args=[round.pk]), follow=True).content.decode()

    assert "closed for now" in page
    Consent.objects.all().update(withdrawn_at=timezone.now())

    page = client.post(reverse("annotation:verification-take", args=[round.pk]), follow=True).content.decode()

    assert "that you have not agreed to yet" in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_round_of_captioning_is_not_taken_as_one_of_rating_or_the_other_way_round(client, round, rae):
    assert client.post(reverse("annotation:verification-take", args=[round.verifies_id])).status_code == 404
    annotator = client_of(make_reviewer(round, role=Role.ANNOTATOR))

    assert annotator.post(reverse("annotation:batch-take", args=[round.pk])).status_code == 404


# The quality table


@pytest.fixture
def rated(made_once) -> Round:
    return made_once(make_rated)


def make_rated() -> Round:
    round, _ = rated_round(*OPINIONS)
    figures.compute(round_id=round.pk, now=timezone.now())
    return round


def reader(round: Round, role: Role = Role.RESEARCHER) -> Client:
    user = make_user()
    Membership.objects.create(project=round.project, user=user, role=role)
    return client_of(user)


def test_the_table_says_where_answers_are_still_to_be_counted(rated):
    rated.figures.__class__.objects.update(is_stale=True)

    page = reader(rated).get(reverse("annotation:quality-progress", args=[rated.project.slug])).content.decode()

    assert "still being counted" in page


def test_the_table_says_why_there_is_no_interval_over_authors(rated):
    page = reader(rated).get(reverse("annotation:quality-show", args=[rated.project.slug])).content.decode()

    assert "All captions are by one author, so they do not show how authors differ." in page


def test_each_rater_stands_against_the_others_by_user_name_for_managers_and_pseudonym_for_researchers(rated):
    address = reverse("annotation:quality-round", args=[rated.project.slug, rated.pk])
    reviewers = {verdict.person for verdict in Verdict.objects.select_related("person")}

    for_manager = reader(rated, Role.MANAGER).get(address).content.decode()
    for_researcher = reader(rated).get(address).content.decode()

    for reviewer in reviewers:
        assert reviewer.username in for_manager
        assert reviewer.username not in for_researcher
        assert pseudonym(rated.project, reviewer.pk) in for_researcher


def test_the_appendix_says_who_rated_what_and_leaves_not_enough_info_in_and_out(rated):
    address = reverse("annotation:quality-round", args=[rated.project.slug, rated.pk])

    appendix = reader(rated).get(address).content.decode().split("For the appendix of a paper")[1]

    assert "Reviewers: 3, of whom 3 rated each caption. Ratings: 15. Verified captions: 5. Authors: 1." in appendix
    assert "Not enough info: 20.0% (3 of 15) of the ratings, and 20.0% (3.6 to 62.4; authors: –) of" in appendix
    assert "Good or better: 40.0% (11.8 to 76.9; authors: –) of all verified captions, and 50.0% (15.0 to" in appendix
    assert "generalises to other captions, with this author and these 3 reviewers (Wilson)" in appendix
    assert "same level: 26.7% (4 of 15), and 30.0% (3 of 10) without Not enough info." in appendix
    assert "Add what people were paid per hour." in appendix

    HourlyRate.objects.create(project=rated.project, rate=12, currency="EUR")
    assert "Pay per hour: 12.00 EUR" in reader(rated).get(address).content.decode()


def test_the_downloads_are_counted_at_once_whatever_the_page_shows(rated):
    Assignment.objects.filter(verdict__caption__text="Bild 1, Satz 0").update(state=AssignmentState.REJECTED)
    client = reader(rated)

    table = client.get(reverse("annotation:quality-export", args=[rated.project.slug, "csv"]))
    entries = client.get(reverse("annotation:quality-export", args=[rated.project.slug, "json"]))

    (row,) = csv.DictReader(io.StringIO(table.content.decode()))
    assert (row["verified"], row["sampled"]) == ("4", "5")
    assert json.loads(entries.content)[0]["verified"] == 4
    assert client.get(reverse("annotation:quality-export", args=[rated.project.slug, "xml"])).status_code == 404


def test_submitting_has_the_table_counted_at_once(
    client, batch, round, django_capture_on_commit_callbacks, monkeypatch
):
    counted: list[int] = []
    monkeypatch.setattr("annotation.tasks.compute_figures.delay", counted.append)

    with django_capture_on_commit_callbacks(execute=True):
        client.post(url_of(batch), {**all_rated(batch), "open": "1"})

    assert counted == [round.pk]
