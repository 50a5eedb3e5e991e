"""Every step takes its locks in the one order that docs/decisions/0039 states, so that no two wait in a circle."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction

from annotation.models import Caption, Exclusion, RoundKind
from annotation.rules.campaign import UnfinishedBatches
from annotation.services import annotator_status, batches, campaign, corrections, feedback, projects, reassignment
from annotation.services import verification as verifying
from annotation.services.campaign import LanguageBeginning
from annotation.services.caption_imports import import_captions
from annotation.services.projects import publish_guidelines
from annotation.services.references import use_as_references
from core.allocation.models import Batch
from core.conversation.rules import ReportReason
from core.conversation.services import report_image
from core.people.models import AuditEntry, Membership, Role, User, WebhookEvent
from core.people.services import accounts, audit_log, webhooks
from core.people.services.accounts import delete_account
from core.people.services.consent import publish_consent_text, withdraw_consent
from core.people.services.members import lock_person, remove_member
from research.inference.models import CaptioningModel
from research.inference.services.caption_switches import switch_off
from tests.annotation import released
from tests.annotation.submitting import submit_captions, take, write
from tests.annotation.verifying import make_reviewer, make_verification, rate
from tests.annotation.verifying import take as take_to_rate
from tests.concurrency import together
from tests.factories import NOW, make_annotator, make_captioner, make_collection, make_language, make_round
from tests.locks import PERSON, check_order, locks_of
from tests.tiers import some

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Campaign:
    """A language with something of every kind in it."""

    def __init__(self) -> None:
        self.round = make_round(images=8, replication=2, batch_size=2)
        self.ann, self.bob, self.eve = (make_annotator(self.round) for _ in range(3))
        self.by = self.round.project.created_by
        submit_captions(self.round, self.ann)
        self.caption = Caption.objects.filter(author=self.ann).first()
        self.rating = make_verification(self.round, places=1)
        submit_captions(self.round, self.ann)
        self.open_caption = Caption.objects.filter(author=self.ann, verification_tasks=None).first()
        use_as_references(round=self.round, by=self.by, now=NOW)
        self.assigned = take(self.round, self.ann)
        # Two pools, so that what is done in both shows in which order.
        self.pilot = make_round(images=2, batch_size=1, project=self.round.project, kind=RoundKind.PILOT)
        submit_captions(self.pilot, self.ann)
        use_as_references(round=self.pilot, by=self.by, now=NOW)
        take(self.pilot, self.ann)
        self.reviewer = make_reviewer(self.rating)
        self.about: dict[str, Any] = {
            "project": self.round.project,
            "language": self.round.language,
            "by": self.by,
            "now": NOW,
        }

    def exclude(self) -> Exclusion:
        return annotator_status.exclude(person=self.ann, reason="Machine-made.", **self.about)

    def return_for_correction(self) -> Any:
        return corrections.return_for_correction(caption_id=self.open_caption.pk, note="Say more.", by=self.by, now=NOW)

    def rewrite(self) -> Callable[[], Any]:
        self.return_for_correction()
        return partial(
            corrections.rewrite,
            caption_id=self.open_caption.pk,
            author=self.ann,
            text="Ein ganz anderer Satz.",
            now=NOW,
        )

    def undo(self) -> Callable[[], Any]:
        return partial(annotator_status.undo_exclusion, exclusion=self.exclude(), by=self.by, now=NOW)

    def submit(self) -> Callable[[], Any]:
        write(self.assigned, self.ann, "Ein Bild davon")
        return partial(batches.submit_batch, batch_id=self.assigned.pk, person=self.ann, now=NOW)

    def rate(self) -> Callable[[], Any]:
        batch = take_to_rate(self.rating, self.reviewer)
        rate(batch, self.reviewer)
        return partial(verifying.submit_batch, batch_id=batch.pk, person=self.reviewer, now=NOW)

    def resume(self) -> Callable[[], Any]:
        batches.return_batch(batch_id=self.assigned.pk, person=self.ann, now=NOW)
        return partial(batches.resume_batch, batch_id=self.assigned.pk, person=self.ann, now=NOW)

    def fill(self) -> Callable[[], Any]:
        return partial(verifying.fill_verification, round_id=self.rating.pk)

    def change(self) -> Callable[[], Any]:
        settings = projects.RoundSettings(replication=3, batch_size=3, lease_s=60, is_open=True)
        return partial(projects.change_round, round=self.round, settings=settings, by=self.by, now=NOW)

    def add_language(self) -> Callable[[], Any]:
        collection = make_collection()
        return partial(
            projects.add_languages,
            project=self.round.project,
            collection=collection,
            captioners=[make_captioner(collection)],
            languages=[projects.NewRound(make_language("sw"), 1)],
            batch_size=15,
            lease_s=3600,
            seed=1,
            beginning=LanguageBeginning(pilot_images=2, why_no_pilot=""),
            by=self.by,
            now=NOW,
        )

    def switch_off(self) -> Callable[[], Any]:
        task = self.round.tasks.filter(task__is_open=True).select_related("english__model").first()
        CaptioningModel.objects.filter(pk=task.english.model_id).update(project=self.round.project)
        return partial(switch_off, caption_id=task.english_id, reason="Bad.", by=self.by, now=NOW)

    def import_captions(self) -> Callable[[], Any]:
        collection = make_collection(1)
        line = {"image/key": collection.entries.get().key, "fr": {"caption": ["Une maison"]}}
        file = BytesIO(json.dumps(line).encode())
        about: dict[str, Any] = {"project": self.round.project, "by": self.by, "now": NOW}
        return partial(import_captions, collection=collection, file=file, source="tests", **about)


STEPS: dict[str, Callable[[Campaign], Callable[[], Any]]] = {
    "take": lambda c: partial(batches.take_batch, round=c.round, person=c.bob, now=NOW, rng=Random(1)),
    "submit": Campaign.submit,
    "report": lambda c: partial(
        report_image,
        kind="captions",
        batch_id=c.assigned.pk,
        position=1,
        person=c.ann,
        reason=ReportReason.BROKEN,
        comment="",
        now=NOW,
    ),
    "give back": lambda c: partial(batches.return_batch, batch_id=c.assigned.pk, person=c.ann, now=NOW),
    "resume": Campaign.resume,
    "take to rate": lambda c: partial(take_to_rate, c.rating, c.reviewer),
    "hand in ratings": Campaign.rate,
    "fill": Campaign.fill,
    "move": lambda c: partial(
        reassignment.move_batch, batch=Batch.objects.get(pk=c.assigned.pk), to=c.bob, by=c.by, now=NOW
    ),
    "return": lambda c: partial(reassignment.return_batch, batch=Batch.objects.get(pk=c.assigned.pk), by=c.by, now=NOW),
    "exclude": lambda c: c.exclude,
    "undo": Campaign.undo,
    "pause": lambda c: partial(annotator_status.pause, person=c.ann, reason="Too fast.", **c.about),
    "return for correction": lambda c: c.return_for_correction,
    "rewrite": Campaign.rewrite,
    "check": lambda c: partial(feedback.check_rating, caption_id=c.caption.pk, is_right=True, by=c.by, now=NOW),
    "close": lambda c: partial(
        campaign.close_round, round=c.round, by=c.by, now=NOW, assigned=UnfinishedBatches.RETURN
    ),
    "change": Campaign.change,
    "withdraw and keep": lambda c: partial(
        withdraw_consent, project=c.round.project, user=c.ann, keeps_answers=True, now=NOW
    ),
    "withdraw and remove": lambda c: partial(
        withdraw_consent, project=c.round.project, user=c.ann, keeps_answers=False, now=NOW
    ),
    "delete the account": lambda c: partial(delete_account, user=c.ann, now=NOW),
    "take a role": lambda c: partial(
        remove_member, membership=Membership.objects.get(user=c.ann, role=Role.ANNOTATOR), by=c.by, now=NOW
    ),
    "use as references": lambda c: partial(use_as_references, round=c.round, by=c.by, now=NOW),
    "publish guidelines": lambda c: partial(
        publish_guidelines, project=c.round.project, rating="R", writing="W", by=c.by, now=NOW
    ),
    "publish a consent text": lambda c: partial(
        publish_consent_text, project=c.round.project, body="Agreed.", by=c.by, now=NOW
    ),
    "add a webhook": lambda c: partial(
        webhooks.add_webhook,
        project=c.round.project,
        url="https://93.184.215.14/hook",
        events=[WebhookEvent.ROUND_CLOSED],
        by=c.by,
        now=NOW,
    ),
    "add a language": Campaign.add_language,
    "switch a caption off": Campaign.switch_off,
    "import captions": Campaign.import_captions,
    "start a release": lambda c: released.Campaign().start,
}


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("step", some(STEPS, short=12, reason="the steps that most people take are first"))
def test_locks_are_taken_in_one_order(step: str):
    check_order(STEPS[step](Campaign()))


def test_control_locks_in_another_order_are_seen():
    made = Campaign()

    def backwards() -> None:
        with transaction.atomic():
            made.return_for_correction()
            lock_person(made.ann)

    locked = [tables[-1] for tables in locks_of(backwards)]
    assert (locked == [PERSON]) == connection.features.has_select_for_update


@pytest.mark.parametrize("what", ["check", "take a role"])
def test_an_account_is_deleted_in_the_moment_in_which_a_manager_writes_of_it_into_the_log(what: str, monkeypatch):
    made = Campaign()
    log_is_locked, is_going = threading.Event(), threading.Event()
    digest_of, empty = audit_log.digest_of, accounts._remove_what_names

    def slowly(entry: AuditEntry, *, before: str) -> str:
        if entry.action != "account.deleted":
            log_is_locked.set()
            is_going.wait(1)
            time.sleep(0.3)
        return digest_of(entry, before=before)

    def late(*about: Any) -> None:
        log_is_locked.wait(1)
        empty(*about)
        is_going.set()

    monkeypatch.setattr(audit_log, "digest_of", slowly)
    monkeypatch.setattr(accounts, "_remove_what_names", late)
    together(lambda step: step(), [STEPS[what](made), STEPS["delete the account"](made)])
    assert User.objects.get(pk=made.ann.pk).deleted_at == NOW
    assert not list(audit_log.broken_entries(made.round.project))


def test_a_role_that_two_managers_take_at_once_is_in_the_log_once():
    made = Campaign()
    take_role = STEPS["take a role"]
    together(lambda step: step(), [take_role(made), take_role(made)])
    assert AuditEntry.objects.filter(project=made.round.project, action="role.removed").count() == 1
