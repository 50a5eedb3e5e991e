"""Open batches that a manager returns, or reassigns to another annotator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from allocation.models import AssignmentState, Batch, BatchState
from allocation.services import assigning, lifecycle
from allocation.services.errors import BatchClosedError, PoolClosedError
from annotation.models import CaptionBatch, Round, RoundKind, RoundState
from annotation.permissions import missing_requirements
from annotation.selectors.previously_seen import previously_seen
from annotation.services.batches import prepare_items
from annotation.services.feedback import record
from people.models import User
from people.selectors.qualification import NotQualifiedError


class ReassignmentError(Exception):
    """Work of this kind goes back to all, and cannot be given to one person."""


@dataclass(frozen=True)
class Moved:
    """`left` is how many images could not come along: the new person had them before, or may not meet them."""

    batch: CaptionBatch
    moved: int
    left: int


def move_batch(*, batch: Batch, to: User, by: User, now: datetime) -> Moved:
    """Reassign the images of an unfinished batch to somebody else, who starts again; drafts stay with their author.

    Raises
    ------
    ReassignmentError, BatchClosedError, PoolClosedError
    NotQualifiedError
        `to` could not take a batch of this round either.
    OpenBatchExistsError
        `to` has an open batch of this round.
    NoTasksAvailableError
        `to` had all of the images before, or may not see any of them now.
    """
    round = Round.objects.select_related("project", "language", "pool").get(pool=batch.pool_id)
    if round.kind == RoundKind.VERIFICATION:
        raise ReassignmentError
    if round.state != RoundState.OPEN:
        raise PoolClosedError
    with transaction.atomic():
        found = missing_requirements(to, round)
        if found:
            raise NotQualifiedError(found)
        made, left = assigning.move_batch(
            batch_id=batch.pk,
            to=to,
            now=now,
            prepare=prepare_items(round, to),
            without=previously_seen(to, round),
        )
        moved = Moved(CaptionBatch.objects.get(pk=made.pk), made.assignments.count(), left)
        about = {"batch": str(batch.pk), "new_batch": str(made.pk), "to": to.pk, "moved": moved.moved, "left": left}
        record(round, "batch.moved", person=batch.person, by=by, now=now, **about)
    return moved


def return_batch(*, batch: Batch, by: User, now: datetime) -> int:
    """Return somebody's batch, for anybody to take; return how many places that frees.

    What they rated and wrote stays with the batch, and they can resume it as far as it is still free.

    Raises
    ------
    BatchClosedError
    """
    round = Round.objects.select_related("project").get(pool=batch.pool_id)
    with transaction.atomic():
        locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
        if locked.state != BatchState.OPEN:
            raise BatchClosedError
        freed = locked.assignments.filter(state=AssignmentState.ASSIGNED).count()
        lifecycle.return_batch(batch=locked, now=now)
        record(round, "batch.returned", person=batch.person, by=by, now=now, batch=str(locked.pk), freed=freed)
    return freed
