"""E-mails about what is new: to whom, when, once, and never with what a caption says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Feedback, Round
from annotation.services import batches, corrections
from core.allocation.models import Batch
from core.people.models import MailState, Membership, Project, Role, TextTranslation, User
from core.people.services.mails import SendingFailure, post_by_server
from office.dashboard import tasks
from office.dashboard.models import EmailChoices, Notice, NoticeKind, WorkSeen
from office.dashboard.rules.emails import Digest, period_due, read_token, token_to_stop, zone_named
from office.dashboard.services.emails import NOTICES, queue_about_work, queue_digests, queue_notices
from tests.annotation.submitting import submit_captions, take
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import NOW, join_project, make_annotator, make_project, make_round, make_translation
from tests.kept import kept
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CANARY = "Kanarienvogel im Löwenkäfig"
NOTE = "Zebra statt Pferd"
MONDAY = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def confirm_address(user: User) -> User:
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def send_all(at: datetime = NOW) -> list[EmailMultiAlternatives]:
    """Send what is due and return it."""
    before = len(mail.outbox)
    for pk in NOTICES.due(now=at):
        NOTICES.send(mail_id=pk, post=post_by_server, clock=lambda: at)
    return cast(list[EmailMultiAlternatives], mail.outbox[before:])


def kinds_for(user: User) -> list[str]:
    return list(Notice.objects.filter(person=user).order_by("pk").values_list("kind", flat=True))


def html_of(message: EmailMultiAlternatives) -> str:
    ((content, kind),) = message.alternatives
    assert kind == "text/html"
    return str(content)


@kept
def round() -> Round:
    return make_round(images=4, replication=1, project=make_project("lions"), batch_size=2, lease_s=3 * 86_400)


@pytest.fixture
def ann(round: Round) -> User:
    return confirm_address(make_annotator(round, "ann"))


@pytest.fixture
def manager(round: Round) -> User:
    return confirm_address(round.project.created_by)


def tell(round: Round, person: User, at: datetime = NOW) -> None:
    Feedback.objects.create(
        project=round.project, round=round, person=person, text=NOTE, by=round.project.created_by, at=at
    )


# Who is told of what


@pytest.mark.long(reason="at least three others run each of its lines")
def test_feedback_is_told_once_and_later_feedback_the_next_day(round: Round, ann: User):
    tell(round, ann)
    for _sweep in range(3):
        queue_notices(now=NOW)
    (message,) = send_all()
    assert message.subject == "You have feedback from a manager"
    assert message.to == [ann.email]
    assert "Lions" in message.body
    assert reverse("annotation:feedback-list") in message.body
    tell(round, ann, NOW + HOUR)
    queue_notices(now=NOW + HOUR)
    assert kinds_for(ann) == ["feedback"], "at most one a day"
    queue_notices(now=NOW + DAY)
    assert kinds_for(ann) == ["feedback", "feedback"]
    queue_notices(now=NOW + DAY + HOUR)
    queue_notices(now=NOW + 2 * DAY)
    assert kinds_for(ann) == ["feedback", "feedback"], "there is nothing new"


def test_a_caption_that_came_back_is_told(round: Round, ann: User):
    submit_captions(round, ann, CANARY)
    caption = round.captions.first()
    corrections.return_for_correction(caption_id=caption.pk, note=NOTE, by=round.project.created_by, now=NOW)
    queue_notices(now=NOW)
    (message,) = send_all()
    assert message.subject == "You have captions to rewrite"


def test_a_deadline_is_told_a_day_before_and_again_only_for_another_deadline(round: Round, ann: User):
    batch = take(round, ann)
    queue_notices(now=NOW)
    assert kinds_for(ann) == []
    almost = batch.lease.deadline - 20 * HOUR
    EmailChoices.objects.create(person=ann, zone="Asia/Kolkata")
    queue_notices(now=almost)
    queue_notices(now=almost + HOUR)
    (message,) = send_all(almost)
    assert message.subject == "A batch of yours expires within a day"
    assert ": Lions\n" in message.body
    assert "Submit it before 5 Mar 2026, 14:30 GMT+5:30." in message.body
    TextTranslation.objects.create(
        project=round.project,
        kind="deadline",
        version=1,
        language_id="en",
        revision=1,
        body="Soon\n\nBefore {DEADLINE}: {LINK} {PROJECT}",
        saved_at=NOW,
        published_at=NOW,
    )
    User.objects.filter(pk=ann.pk).update(interface_language="de")
    Notice.objects.all().delete()
    queue_notices(now=almost)
    (message,) = send_all(almost)
    assert "Before 5 Mar 2026, 14:30 GMT+5:30:" in message.body, "a text that is not translated has its own dates"
    Batch.objects.update(deadline=batch.lease.deadline + DAY)
    queue_notices(now=almost + DAY)
    assert kinds_for(ann) == ["deadline", "deadline"]


def test_a_short_lease_and_a_submitted_batch_tell_of_no_deadline(round: Round, ann: User):
    batch = take(round, ann)
    Batch.objects.update(lease_s=86_400)
    queue_notices(now=batch.lease.deadline - HOUR)
    assert kinds_for(ann) == []


def test_a_deadline_that_is_met_meanwhile_is_not_told(round: Round, ann: User):
    batch = take(round, ann)
    at = batch.lease.deadline - HOUR
    queue_notices(now=at)
    batches.return_batch(batch_id=batch.pk, person=ann, now=at)
    assert send_all(at) == []
    assert Notice.objects.get().state == Notice.NOT_NEEDED


def test_work_is_told_when_there_is_some_again_and_not_to_who_never_ran_out(round: Round, ann: User):
    queue_about_work(now=NOW)
    assert kinds_for(ann) == [], "there was work from the beginning"
    submit_captions(round, ann)
    submit_captions(round, ann)
    queue_about_work(now=NOW + HOUR)
    assert not WorkSeen.objects.get(person=ann).has_work
    another = make_round(project=round.project, collection=None or make_round().collection, language="de", number=2)
    queue_about_work(now=NOW + 2 * HOUR)
    queue_about_work(now=NOW + 3 * HOUR)
    assert kinds_for(ann) == ["work"]
    (message,) = send_all(NOW + 3 * HOUR)
    assert message.subject == "There is work for you again"
    assert another.project == round.project


def test_nobody_is_told_without_a_confirmed_address_or_a_wish(round: Round, ann: User):
    EmailAddress.objects.filter(user=ann).update(verified=False)
    tell(round, ann)
    queue_notices(now=NOW)
    assert kinds_for(ann) == []
    EmailAddress.objects.filter(user=ann).update(verified=True)
    EmailChoices.objects.create(person=ann, feedback=False)
    queue_notices(now=NOW)
    assert kinds_for(ann) == []
    EmailChoices.objects.update(feedback=True)
    queue_notices(now=NOW)
    assert kinds_for(ann) == ["feedback"]
    EmailChoices.objects.update(feedback=False)
    assert send_all() == [], "the wish counts when it is sent"


def test_an_installation_that_begins_to_send_is_silent_about_the_past(round: Round, ann: User):
    tell(round, ann, NOW - 3 * DAY)
    queue_notices(now=NOW)
    assert kinds_for(ann) == []


# In whose words


def in_german(project: Project, person: User) -> TextTranslation:
    """What a project says of feedback, to somebody with German pages."""
    User.objects.filter(pk=person.pk).update(interface_language="de")
    return make_translation(project, language="de", kind="feedback", body="Post von {PROJECT}\n\n<b> {LINK}")


def test_an_e_mail_about_one_project_is_in_its_words_and_says_how_to_stop_it(round: Round, ann: User):
    text = in_german(round.project, ann)
    tell(round, ann)
    queue_notices(now=NOW)
    (message,) = send_all()
    assert message.subject == "Post von Lions"
    assert "&lt;b&gt; <a href=" in html_of(message)
    assert message.body.count("http://") == 3
    notice = Notice.objects.get()
    assert (notice.text_version, notice.translation) == (1, text)


def test_an_e_mail_about_two_projects_is_in_the_words_of_the_platform(round: Round, ann: User):
    in_german(round.project, ann)
    tell(round, ann)
    tell(make_round(project=make_project("birds")), ann)
    join_project(Project.objects.get(slug="birds"), ann)
    queue_notices(now=NOW)
    (message,) = send_all()
    assert "Birds, Lions" in message.body
    assert "Post" not in message.subject
    notice = Notice.objects.get()
    assert (notice.text_version, notice.translation) == (None, None)


# Digests


@pytest.mark.parametrize(
    ("digest", "local", "period"),
    [
        ("daily", "2026-03-03T07:00", "2026-03-03"),
        ("daily", "2026-03-03T06:59", ""),
        ("daily", "2026-03-03T12:00", ""),
        ("weekly", "2026-03-02T11:59", "2026-W10"),
        ("weekly", "2026-03-03T08:00", ""),
        ("weekly", "2027-01-04T08:00", "2027-W01"),
        ("off", "2026-03-02T08:00", ""),
    ],
)
def test_when_a_digest_is_due(digest: str, local: str, period: str):
    assert period_due(digest, datetime.fromisoformat(local)) == period


def test_an_unknown_zone_is_utc():
    assert str(zone_named("Mars/Olympus")) == str(zone_named("../etc")) == str(zone_named("")) == "UTC"


def test_a_digest_goes_out_once_a_week_in_the_morning_of_the_person(round: Round, manager: User):
    EmailChoices.objects.create(person=manager, zone="Asia/Tokyo")
    queue_digests(now=MONDAY)
    assert kinds_for(manager) == [], "17:00 in Tokyo"
    early = MONDAY - 9 * HOUR
    for hour in (0, 1, 2):
        queue_digests(now=early + hour * HOUR)
    assert kinds_for(manager) == ["digest"]
    queue_digests(now=early + 7 * DAY)
    assert kinds_for(manager) == ["digest", "digest"]


def test_a_digest_says_what_needs_the_manager_in_text_and_html(round: Round, manager: User):
    Round.objects.update(opened_at=NOW)
    queue_digests(now=MONDAY)
    (message,) = send_all(MONDAY)
    assert message.subject.endswith("on Crosslens")
    for body in (str(message.body), html_of(message)):
        assert "Nobody can write" in body
        assert "http://127.0.0.1:8000/projects/lions/" in body
        assert "Lions" in body


def test_a_digest_of_nothing_is_not_sent(round: Round, manager: User):
    Membership.objects.filter(user=manager).update(role=Role.RESEARCHER)
    queue_digests(now=MONDAY)
    assert send_all(MONDAY) == []
    assert Notice.objects.get().state == Notice.NOT_NEEDED


def test_a_digest_is_in_english_where_managers_pages_are(round: Round, manager: User):
    for language, subject in (("de", "on Crosslens"), ("ar", "Crosslens")):
        Notice.objects.all().delete()
        User.objects.filter(pk=manager.pk).update(interface_language=language)
        queue_digests(now=MONDAY)
        (message,) = send_all(MONDAY)
        assert subject in message.subject
        assert f'lang="{"ar" if language == "ar" else "en"}"' in html_of(message)


# Once, whatever happens


@pytest.mark.postgres
def test_one_occasion_is_one_row(ann: User):
    about = {"person": ann, "kind": NoticeKind.WORK, "about": "2026-03-02", "due_at": NOW, "queued_at": NOW}
    Notice.objects.create(**about)
    with pytest.raises(IntegrityError), transaction.atomic():
        Notice.objects.create(**about)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_sweeps_and_workers_at_once_send_one_e_mail():
    round = make_round(project=make_project("lions"))
    ann = confirm_address(make_annotator(round, "ann"))
    tell(round, ann)
    together(lambda _number: queue_notices(now=NOW), range(4))
    (pk,) = NOTICES.due(now=NOW)
    posted: list[mail.EmailMessage] = []
    together(lambda _number: NOTICES.send(mail_id=pk, post=posted.append, clock=lambda: NOW), range(4))
    assert [message.to for message in posted] == [[ann.email]]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_constraint_each_sweep_would_queue_one():
    round = make_round(project=make_project("lions"))
    ann = confirm_address(make_annotator(round, "ann"))
    found = together(lambda _number: Notice.objects.filter(person=ann, kind="feedback").exists(), range(4))
    assert found == [False] * 4


def test_a_worker_that_died_sends_nothing_twice_and_a_server_that_is_down_is_tried_again(round: Round, ann: User):
    tell(round, ann)
    queue_notices(now=NOW)
    (pk,) = NOTICES.due(now=NOW)
    NOTICES.send(mail_id=pk, post=lambda message: SendingFailure("down", may_retry=True), clock=lambda: NOW)
    notice = Notice.objects.get()
    assert (notice.state, notice.reason, notice.due_at > NOW) == (MailState.QUEUED, "down", True)
    Notice.objects.update(state=MailState.SENDING, due_at=NOW)
    assert NOTICES.due(now=NOW + HOUR) == NOTICES.due(now=NOW + DAY) == []
    assert Notice.objects.get().state == MailState.FAILED


def test_the_sweeps_queue_and_send(round: Round, ann: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    tell(round, ann)
    tasks.sweep_hourly()
    tasks.sweep_occasions()
    sweep(tasks.send_notice)
    assert [message.subject for message in mail.outbox] == ["You have feedback from a manager"]


# What they say, and how they are stopped


def test_no_e_mail_says_what_a_caption_or_a_message_says(round: Round, ann: User, manager: User):
    submit_captions(round, ann, CANARY)
    corrections.return_for_correction(caption_id=round.captions.first().pk, note=NOTE, by=manager, now=NOW)
    batch = take(round, ann)
    at = batch.lease.deadline - HOUR
    tell(round, ann, at)
    WorkSeen.objects.create(person=ann, has_work=False)
    Feedback.objects.update(acknowledged_at=NOW)
    queue_about_work(now=at)
    Feedback.objects.update(acknowledged_at=None)
    queue_notices(now=NOW)
    queue_notices(now=at)
    Notice.objects.create(person=manager, kind=NoticeKind.DIGEST, about="x", due_at=at, queued_at=at)
    Feedback.objects.all().update(acknowledged_at=None)
    sent = send_all(at)
    kinds = set(Notice.objects.filter(state=MailState.SENT).values_list("kind", flat=True))
    assert kinds >= {"feedback", "rewrite", "deadline", "digest"}
    for message in sent:
        for text in (message.subject, str(message.body), html_of(message)):
            assert CANARY not in text
            assert NOTE not in text
            for english in round.tasks.values_list("english__text", flat=True):
                assert english not in text


def test_each_e_mail_can_be_stopped_by_its_link_and_by_the_mail_program(round: Round, ann: User):
    tell(round, ann)
    queue_notices(now=NOW)
    (message,) = send_all()
    link = message.extra_headers["List-Unsubscribe"].strip("<>")
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert link in message.body
    path = link.removeprefix("http://127.0.0.1:8000")
    program = Client(enforce_csrf_checks=True)
    asked = program.get(path)
    assert b"Stop these e-mails" in asked.content
    assert not EmailChoices.objects.exists(), "programs follow links"
    done = program.post(path, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")
    assert b"no more e-mails like this" in done.content
    choices = EmailChoices.objects.get(person=ann)
    assert (choices.feedback, choices.work) == (False, True)
    assert program.get("/e-mails/stop/nonsense/").status_code == 404
    assert program.get(reverse("dashboard:email-stop", args=[token_to_stop(ann.pk, "cake")])).status_code == 404


def test_a_token_says_who_and_what_and_cannot_be_made_up(ann: User):
    token = token_to_stop(ann.pk, "digest")
    assert read_token(token) == (ann.pk, "digest")
    assert read_token(token[:-1]) is None


def test_the_page_of_choices_offers_what_concerns_the_person(round: Round, ann: User, manager: User):
    address = reverse("dashboard:email-choices")
    client = client_of(ann)
    client.cookies["timezone"] = "Asia/Tokyo"
    page = client.get(address).content.decode()
    assert 'name="work"' in page
    assert 'name="digest"' not in page
    client.post(address, {"work": "on", "deadline": "on"})
    choices = EmailChoices.objects.get(person=ann)
    assert (choices.work, choices.feedback, choices.deadline, choices.zone) == (True, False, True, "Asia/Tokyo")
    page = client_of(manager).get(address).content.decode()
    assert 'name="work"' not in page
    refused = client_of(manager).post(address, {"digest": "hourly"})
    assert refused.status_code == 422
    client_of(manager).post(address, {"digest": "daily"})
    assert EmailChoices.objects.get(person=manager).digest == Digest.DAILY
    EmailAddress.objects.filter(user=ann).delete()
    assert "until you have confirmed an address" in client.get(address).content.decode()
