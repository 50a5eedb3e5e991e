"""What happens to a project while people work in it, and the order of locks that docs/decisions/0039 states."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from annotation.models import Caption, CaptionBatch
from annotation.rules.campaign import UnfinishedBatches
from annotation.services import batches, tallies
from core.allocation.models import Assignment, Batch, BatchState, Task
from core.allocation.services.errors import PoolBusyError
from core.people.models import Invitation, Project
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.invitations import accept_invitation
from office.dashboard.services import project_deletion
from office.dashboard.services.project_deletion import ask_for_deletion, delete_project
from office.dashboard.services.projects import archive_project, rename_project, restore_project
from office.recruitment.models import Participant
from office.recruitment.services.participants import finish
from tests.annotation.submitting import submit_captions, take, write
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_annotator, make_round, make_user
from tests.locks import check_order, wait_for_a_waiter
from tests.people.invitations import make_invitation
from tests.recruitment.panel import make_study
from tests.tiers import runs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


@pytest.mark.parametrize("run", runs(12, short=1))
def test_nobody_gets_a_batch_once_the_project_is_archived(run):
    round = make_round(images=12, batch_size=2)
    project, people = round.project, [make_annotator(round) for _ in range(4)]

    def work(person: Any) -> bool:
        if person is None:
            archive_project(project=project, assigned=UnfinishedBatches.RETURN, by=project.created_by, now=NOW)
            return True
        try:
            return batches.take_batch(round=round, person=person, now=NOW, rng=Random(run)) is not None
        except (NotQualifiedError, PoolBusyError):
            return False

    together(work, [*people[:2], None, *people[2:]])
    assert not Batch.objects.filter(state=BatchState.OPEN).exists()
    assert not Task.objects.exclude(places_taken=0).exists()


@pytest.mark.parametrize("run", runs(12, short=1))
def test_a_deletion_while_people_submit_and_take_leaves_nothing(run):
    round = make_round(images=6, batch_size=2)
    project, people = round.project, [make_annotator(round) for _ in range(3)]
    assigned = [take(round, person) for person in people]
    for batch, person in zip(assigned, people, strict=True):
        write(batch, person, "Ein Bild von etwas")
    archive_project(project=project, assigned=UnfinishedBatches.LET_FINISH, by=project.created_by, now=NOW)

    def delete() -> None:
        deletion = ask_for_deletion(project=project, by=project.created_by, now=NOW)
        delete_project(deletion_id=deletion.pk, now=NOW)

    def submit(number: int) -> None:
        batches.submit_batch(batch_id=assigned[number].pk, person=people[number], now=NOW)
        batches.take_batch(round=round, person=people[number], now=NOW, rng=Random(run))

    todo: list[Callable[[], None]] = [lambda: submit(0), delete, lambda: submit(1), lambda: submit(2)]
    outcomes = together_with_errors(lambda each: each(), todo)
    assert outcomes[1] is None
    assert not any(isinstance(outcome, (IntegrityError, OperationalError)) for outcome in outcomes)
    for model in (Project, CaptionBatch, Caption, Batch, Task, Assignment):
        assert not model._default_manager.exists(), model
    connection.check_constraints()


needs_locks = pytest.mark.skipif(
    not connection.features.has_select_for_update, reason="SQLite has one writer at a time"
)


class WorkUnderWay:
    """A project of which the deletion was asked for while somebody works in it."""

    def __init__(self) -> None:
        self.round = make_round(images=2, batch_size=2)
        self.project, self.person = self.round.project, make_annotator(self.round)
        self.batch = take(self.round, self.person)
        write(self.batch, self.person, "Ein Bild von etwas")
        self.invitation = make_invitation(self.project)
        self.guest = make_user()
        study = make_study(self.project)
        self.participant = Participant.objects.create(study=study, panel_id="p1", user=self.person, arrived_at=NOW)
        # The lease has run out, so that what is submitted comes late.
        about: dict[str, Any] = {"project": self.project, "by": self.project.created_by, "now": NOW + timedelta(days=9)}
        archive_project(assigned=UnfinishedBatches.LET_FINISH, **about)
        self.deletion = ask_for_deletion(**about)

    def delete(self) -> None:
        delete_project(deletion_id=self.deletion.pk, now=NOW)

    def save(self) -> None:
        about: dict[str, Any] = {"batch_id": self.batch.pk, "person": self.person, "active_ms": 0, "now": NOW}
        batches.save_draft(position=1, text="Ein Hund", revision=1, **about)

    def finish(self) -> None:
        finish(participant=self.participant, leaves=True, now=NOW)

    def accept(self) -> None:
        about: dict[str, Any] = {"levels": {}, "reads_english": False, "consent_version": 1, "now": NOW}
        accept_invitation(token=self.invitation.token, user=self.guest, **about)

    def lock_backwards(self) -> None:
        with transaction.atomic():
            rows = CaptionBatch.objects.select_related("lease").filter(pk=self.batch.pk)
            list(rows.select_for_update(no_key=True, of=("self", "lease")))


@needs_locks
@pytest.mark.parametrize(
    ("step", "outcome", "is_deleted"),
    [
        (WorkUnderWay.save, CaptionBatch.DoesNotExist, True),
        (WorkUnderWay.finish, Participant.DoesNotExist, True),
        (WorkUnderWay.accept, Invitation.DoesNotExist, True),
        # The control: the row of a batch before its lease.
        (WorkUnderWay.lock_backwards, type(None), False),
    ],
)
def test_a_step_that_comes_while_a_project_is_deleted_waits_and_finds_nothing(step, outcome, is_deleted, monkeypatch):
    work, is_deleting = WorkUnderWay(), threading.Event()
    files_of = project_deletion.files_of

    def slowly(project: Project) -> list[str]:
        is_deleting.set()
        wait_for_a_waiter()
        return files_of(project)

    def come_in() -> None:
        is_deleting.wait(10)
        step(work)

    monkeypatch.setattr(project_deletion, "files_of", slowly)
    told, deleted = together_with_errors(lambda each: each(), [come_in, work.delete])
    assert isinstance(told, outcome), told
    assert (deleted is None) is is_deleted, deleted
    assert is_deleted or "deadlock" in str(deleted)


@needs_locks
def test_the_deletion_of_a_project_waits_for_what_is_being_submitted(monkeypatch):
    work, is_submitting = WorkUnderWay(), threading.Event()
    submitted = tallies.submitted

    def slowly(**about: Any) -> None:
        is_submitting.set()
        wait_for_a_waiter()
        submitted(**about)

    def submit() -> None:
        batches.submit_batch(batch_id=work.batch.pk, person=work.person, now=NOW + timedelta(days=9))

    def delete() -> None:
        is_submitting.wait(10)
        work.delete()

    monkeypatch.setattr(tallies, "submitted", slowly)
    assert together_with_errors(lambda each: each(), [submit, delete]) == [None, None]
    assert not Project.objects.exists()


def make_campaign() -> Project:
    """With a batch that somebody works on."""
    round = make_round(images=6, batch_size=2)
    person = make_annotator(round)
    submit_captions(round, person)
    take(round, person)
    return round.project


def archived(project: Project) -> Project:
    return archive_project(project=project, assigned=UnfinishedBatches.LET_FINISH, by=project.created_by, now=NOW)


STEPS: dict[str, Callable[[Project, dict[str, Any]], Callable[[], Any]]] = {
    "rename": lambda project, by: partial(rename_project, project=project, name="New", description="", **by),
    "archive": lambda project, by: partial(archive_project, project=project, assigned=UnfinishedBatches.RETURN, **by),
    "restore": lambda project, by: partial(restore_project, project=archived(project), **by),
    "ask for deletion": lambda project, by: partial(ask_for_deletion, project=archived(project), **by),
}


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("step", STEPS)
def test_every_step_locks_in_the_order(step):
    project = make_campaign()
    check_order(STEPS[step](project, {"by": project.created_by, "now": NOW}))
