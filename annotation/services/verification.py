"""Captions rated by others: which are drawn, and the life of a rater's batch, one transaction a step.

Every step locks the batch's rows first, so that two tabs, a double click and a late request take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from allocation.models import Assignment, Batch, BatchState, Pool, Task
from allocation.services import assigning, lifecycle
from allocation.services.errors import BatchReturnedError, LeaseExpiredError, PoolClosedError
from allocation.services.lifecycle import finish_batch, is_half_over, renew_lease
from annotation.models import (
    Caption,
    CaptionState,
    Rating,
    Round,
    RoundState,
    Verdict,
    VerificationBatch,
    VerificationTask,
)
from annotation.permissions import check_still_qualified, missing_requirements
from annotation.rules.drawing import Drawn, draw_captions
from annotation.selectors.verification import captions_by_image, not_for, to_rate
from annotation.services import figures, tallies
from annotation.services.batches import StaleStateError, UnratedImagesError, credible_ms
from people.models import User
from people.selectors.qualification import MissingRequirement, NotQualifiedError

TASKS_PER_INSERT = 5000


def fill_verification(*, round_id: int) -> int:
    """Draw the captions that an open round lacks, some at a time so that nobody's writing waits; returns how many.

    Before, not all captions are there to draw from; afterwards its sample is what it was judged by.

    Stopped half-way or run again, it does no harm. A caption that ceased to count since goes out of the sample, as far
    as nobody rated it yet, and another image comes in.
    """
    added = 0
    while True:
        with transaction.atomic(durable=True):
            # Whoever asks for more tasks meanwhile waits for this lock, so that the mark they set is not lost.
            found = Round.objects.select_for_update(no_key=True, of=("self",)).select_related("pool", "verifies")
            round = found.get(pk=round_id)
            made = _add_missing(round) if round.state == RoundState.OPEN else 0
            added += made
            if made < TASKS_PER_INSERT:
                Round.objects.filter(pk=round_id).update(awaits_tasks=False)
                return added


def _add_missing(round: Round) -> int:
    assert round.verifies is not None
    # Those who take a batch hold tasks while they refer to the pool: a lock that left no room for that could wait for
    # them while they wait for it.
    Pool.objects.select_for_update(no_key=True).get(pk=round.pool_id)
    _fit_places(round)
    kept = set(
        VerificationTask.objects.filter(round=round, caption__state=CaptionState.COUNTED).values_list(
            "caption", flat=True
        )
    )
    missing = _drawn_and_locked(round, round.verifies, kept)
    tasks = Task.objects.bulk_create(
        Task(pool_id=round.pool_id, shuffle_key=one.shuffle_key, places=round.replication) for one in missing
    )
    VerificationTask.objects.bulk_create(
        VerificationTask(task=task, round=round, caption_id=one.caption)
        for task, one in zip(tasks, missing, strict=True)
    )
    figures.places_changed(round=round)
    tallies.figures_changed(round_id=round.pk)
    return len(missing)


def _drawn_and_locked(round: Round, verified: Round, kept: set[int]) -> list[Drawn]:
    """Captions that the sample lacks; none of them is returned meanwhile, as who does that waits for the lock."""
    while True:
        drawn = draw_captions(captions_by_image(verified), seed=round.seed, size=round.sample_size, kept=kept)
        missing = [one for one in drawn if one.caption not in kept][:TASKS_PER_INSERT]
        captions = Caption.objects.counted().filter(pk__in=[one.caption for one in missing]).order_by("pk")
        locked = captions.select_for_update(no_key=True).values_list("pk", flat=True)
        if len(locked) == len(missing):
            return missing


def _fit_places(round: Round) -> None:
    """Take captions that do not count out of the sample, or their free places where somebody had them already."""
    counts = Q(verification_task__caption__state=CaptionState.COUNTED)
    tasks = Task.objects.filter(pool=round.pool_id).filter(~counts | ~Q(places=round.replication))
    locked = list(tasks.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    Task.objects.filter(~counts, pk__in=locked, assignments__isnull=True).delete()
    Task.objects.filter(~counts, pk__in=locked).update(places=Greatest(F("places_taken"), 1))
    Task.objects.filter(counts, pk__in=locked).update(places=Greatest(F("places_taken"), round.replication))


def take_batch(*, round: Round, person: User, now: datetime, rng: Random) -> VerificationBatch | None:
    """Hand `person` captions of `round` (the open batch, where there is one), or None when nothing is left for them.

    Raises
    ------
    NotQualifiedError, PoolClosedError, PoolBusyError
    """
    found = missing_requirements(person, round)
    if found:
        raise NotQualifiedError(found)

    def prepare(batch: Batch, assignments: list[Assignment]) -> None:
        _must_be_open(round)
        check_still_qualified(person, round)
        rows = VerificationBatch.objects.create(lease=batch, round=round, guidelines_id=round.guidelines_id)
        tasks = VerificationTask.objects.in_bulk([assignment.task_id for assignment in assignments])
        Verdict.objects.bulk_create(
            Verdict(
                assignment=assignment,
                batch=rows,
                person=person,
                position=assignment.position,
                caption_id=tasks[assignment.task_id].caption_id,
            )
            for assignment in assignments
        )

    batch = assigning.take_batch(
        pool=round.pool, person=person, now=now, rng=rng, prepare=prepare, without=not_for(person)
    )
    return VerificationBatch.objects.select_related("lease", "round").get(pk=batch.pk) if batch else None


def _must_be_open(round: Round) -> None:
    """Within the transaction that hands out; who closes the round changes the same row as who takes refers to."""
    if not Round.objects.filter(pk=round.pk, state=RoundState.OPEN).exists():
        raise PoolClosedError


def save_verdict(
    *, batch_id: UUID, person: User, position: int, rating: Rating, active_ms: int, now: datetime
) -> Verdict:
    """Keep how one caption was rated; it may be changed until the batch is submitted.

    Raises
    ------
    VerificationBatch.DoesNotExist, Verdict.DoesNotExist, StaleStateError, BatchReturnedError
    LeaseExpiredError
        The rating is kept all the same.
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        _must_be_assigned(batch)
        verdict = to_rate(batch).get(position=position)
        verdict.rating_ms += credible_ms(active_ms, since=verdict.rated_at or batch.lease.taken_at, now=now)
        verdict.rating, verdict.rated_at = rating, now
        verdict.save(update_fields=["rating", "rated_at", "rating_ms"])
        _renew_lease(batch, person, now)
    if _is_over(batch, now):
        raise LeaseExpiredError
    return verdict


def save_verdicts(*, batch_id: UUID, person: User, ratings: Mapping[int, Rating], now: datetime) -> None:
    """Keep many ratings at once, as the form without scripts sends them; after the lease ran out too.

    Raises
    ------
    VerificationBatch.DoesNotExist, StaleStateError, BatchReturnedError
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        _must_be_assigned(batch)
        changed = []
        for verdict in to_rate(batch).filter(position__in=ratings):
            if verdict.rating != ratings[verdict.position]:
                verdict.rating, verdict.rated_at = ratings[verdict.position], now
                changed.append(verdict)
        Verdict.objects.bulk_update(changed, ["rating", "rated_at"])
        _renew_lease(batch, person, now)


def submit_batch(*, batch_id: UUID, person: User, now: datetime) -> VerificationBatch:
    """Submit all ratings of a batch. Submitting twice has no further effect.

    If the lease ran out before, they are kept, flagged as late, and never counted.

    Raises
    ------
    VerificationBatch.DoesNotExist, BatchReturnedError, UnratedImagesError, NotQualifiedError
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        if batch.submitted_at:
            return batch
        _must_be_assigned(batch)
        stops = _lost_requirements(person, batch)
        if stops:
            raise NotQualifiedError(stops)
        verdicts = list(to_rate(batch))
        unrated = [verdict.position for verdict in verdicts if not verdict.rating]
        if unrated:
            raise UnratedImagesError(unrated)
        counts = finish_batch(batch=batch.lease, now=now)
        batch.submitted_at = now
        batch.save(update_fields=["submitted_at"])
        tallies.verdicts_submitted(batch=batch, verdicts=verdicts, counts=counts)
    return batch


def return_batch(*, batch_id: UUID, person: User, now: datetime) -> None:
    """Return a batch's places to the round. What was rated stays with the batch."""
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        lifecycle.return_batch(batch=batch.lease, now=now)


def resume_batch(*, batch_id: UUID, person: User, now: datetime) -> Batch:
    """Resume an expired or returned batch, as far as its captions are still free.

    Raises
    ------
    NotQualifiedError, StaleStateError, and those of allocation.services.assigning.resume_batch
    """
    batch = VerificationBatch.objects.select_related("round__project", "round__language").get(
        pk=batch_id, lease__person=person
    )
    if batch.submitted_at:
        raise StaleStateError
    found = missing_requirements(person, batch.round)
    if found:
        raise NotQualifiedError(found)
    with transaction.atomic():
        resumed = assigning.resume_batch(batch_id=batch_id, person=person, now=now)
        _must_be_open(batch.round)
        check_still_qualified(person, batch.round)
    return resumed


def _locked_batch(batch_id: UUID, person: User) -> VerificationBatch:
    return (
        VerificationBatch.objects.select_for_update(no_key=True, of=("self", "lease"))
        .select_related("lease", "round__project", "round__language")
        .defer("round__project__description")
        .get(pk=batch_id, lease__person=person)
    )


def _must_be_assigned(batch: VerificationBatch) -> None:
    if batch.submitted_at:
        raise StaleStateError
    if batch.lease.state == BatchState.RETURNED:
        raise BatchReturnedError


def _is_over(batch: VerificationBatch, now: datetime) -> bool:
    return batch.lease.state != BatchState.OPEN or batch.lease.deadline <= now


def _lost_requirements(person: User, batch: VerificationBatch) -> list[MissingRequirement]:
    """Whether the role or the consent that the batch was taken with is gone: nothing counts without them."""
    return [found for found in missing_requirements(person, batch.round) if found.code in ("role", "consent")]


def _renew_lease(batch: VerificationBatch, person: User, now: datetime) -> None:
    if is_half_over(batch=batch.lease, now=now) and not _lost_requirements(person, batch):
        renew_lease(batch=batch.lease, now=now)
