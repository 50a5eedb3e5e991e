"""Archiving and deleting while people take batches and submit them: either is refused, and nothing is half done."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.db import IntegrityError, connection

from allocation.models import Assignment, Batch, BatchState, Task
from allocation.services.errors import PoolBusyError
from annotation.models import Caption, CaptionBatch
from annotation.rules.campaign import UnfinishedBatches
from annotation.services import batches
from dashboard.services.project_archive import archive_project
from dashboard.services.project_deletion import ask_for_deletion, delete_project
from people.models import Project
from people.selectors.qualification import NotQualifiedError
from tests.annotation.submitting import take, write
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_annotator, make_round
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
    assert not any(isinstance(outcome, IntegrityError) for outcome in outcomes)
    for model in (Project, CaptionBatch, Caption, Batch, Task, Assignment):
        assert not model._default_manager.exists(), model
    connection.check_constraints()
