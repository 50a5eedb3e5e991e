"""Open batches that a manager returns, or reassigns to another annotator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import CaptionBatch, Round, RoundKind, RoundState
from annotation.selectors.image_uses import comes_to_nobody, previously_seen
from annotation.services.batches import KIND
from annotation.services.feedback import record
from core.allocation.models import AssignmentState, Batch, BatchState
from core.allocation.services import assigning, lifecycle
from core.allocation.services.errors import (
    BatchClosedError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolClosedError,
)
from core.allocation.services.locks import lock_batch
from core.people.models import User
from core.people.selectors.qualification import NotQualifiedError


class ReassignmentError(Exception):
    """A batch of captions to rate can be returned, but not reassigned."""


@dataclass(frozen=True)
class ReassignedBatch:
    """`left` is how many images could not be moved: the new person has seen them, or must not see them now."""

    batch: CaptionBatch
    moved: int
    left: int


def move_batch(*, batch: Batch, to: User, by: User, now: datetime) -> ReassignedBatch:
    """Give the images of an open batch to somebody else, who starts afresh. Drafts stay with the first person.

    Raises ReassignmentError, BatchClosedError or PoolClosedError. Raises NotQualifiedError: `to` could not take a batch
    of this round either. Raises OpenBatchExistsError: `to` already has an open batch of this round. Raises
    NoTasksAvailableError: `to` has seen all of the images, or must not see any of them now.
    """
    round = Round.objects.select_related("project", "language", "pool").get(pool=batch.pool_id)
    if round.kind == RoundKind.VERIFICATION:
        raise ReassignmentError
    if round.state != RoundState.OPEN:
        raise PoolClosedError
    with transaction.atomic():
        KIND.check_qualified(to, round)
        made, left = assigning.move_batch(
            batch_id=batch.pk,
            to=to,
            now=now,
            prepare=KIND.preparing(round, Random()),
            without=previously_seen(to, round.project_id) | comes_to_nobody(round.project_id),
        )
        moved = ReassignedBatch(CaptionBatch.objects.get(pk=made.pk), made.assignments.count(), left)
        about = {"batch": str(batch.pk), "new_batch": str(made.pk), "to": to.pk, "moved": moved.moved, "left": left}
        record(round, "batch.moved", person=batch.person, by=by, now=now, **about)
    return moved


def return_batch(*, batch: Batch, by: User, now: datetime) -> int:
    """Return somebody's open batch; returns how many places that frees for others.

    Ratings and drafts stay with the batch, and the person can resume it with the images that are still free.

    Raises BatchClosedError.
    """
    round = Round.objects.select_related("project").get(pool=batch.pool_id)
    with transaction.atomic():
        locked = lock_batch(batch.pk)
        if locked.state != BatchState.OPEN:
            raise BatchClosedError
        freed = locked.assignments.filter(state=AssignmentState.ASSIGNED).count()
        lifecycle.return_batch(batch=locked, now=now)
        record(round, "batch.returned", person=batch.person, by=by, now=now, batch=str(locked.pk), freed=freed)
    return freed


NOT_REASSIGNED = (
    NotQualifiedError,
    ReassignmentError,
    BatchClosedError,
    PoolClosedError,
    OpenBatchExistsError,
    NoTasksAvailableError,
)


def why_not_reassigned(error: Exception, name: str) -> str:
    """Say to a manager why somebody, called `name`, cannot get a batch; `error` is one of `NOT_REASSIGNED`."""
    if isinstance(error, NotQualifiedError):
        return _what_is_missing(error, name)
    if isinstance(error, ReassignmentError):
        return _("You cannot reassign a batch of captions to rate. Return it instead.")
    if isinstance(error, BatchClosedError):
        return _("This batch is no longer assigned to anybody.")
    if isinstance(error, PoolClosedError):
        return _("This round is not open, so nobody can get a batch of it. Open it first.")
    if isinstance(error, OpenBatchExistsError):
        return _("%(name)s already has a batch of this round.") % {"name": name}
    return _("%(name)s cannot get any of these images because they had them before.") % {"name": name}


def _what_is_missing(error: NotQualifiedError, name: str) -> str:
    known = {
        "role": _("they are not an annotator of this project"),
        "english": _("their profile does not say that they read English well"),
        "language": _("their profile does not say that they are a native or fluent speaker"),
        "consent": _("they have not agreed to the newest consent text for annotators"),
        "feedback": _("they have feedback to read first"),
        "paused": _("they are paused in this language"),
        "excluded": _("their work in this language is excluded"),
        "qualification": _("they are not qualified in this language"),
    }
    reasons = "; ".join(known.get(missing.code, missing.code) for missing in error.missing_requirements)
    text = _("This batch cannot be reassigned to %(name)s: %(reasons)s.")
    return text % {"reasons": reasons, "name": name}
