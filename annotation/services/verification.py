"""Captions rated by others: which are drawn, and the steps of a batch of them.

`core.allocation.services.kinds` has the steps that all batches share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

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
from annotation.rules.sampling import DrawnCaption, draw_captions
from annotation.selectors.verification import captions_by_image, not_for, to_rate
from annotation.services import figures, tallies
from annotation.services.round_batches import (
    RatingsLeftOutError,
    RoundBatchKind,
    StaleStateError,
    UnratedImagesError,
    check_not_gone,
    rate,
    rate_many,
)
from annotation.services.rounds import fill_round
from core.allocation.models import Pool, Task
from core.allocation.services.errors import PoolClosedError
from core.allocation.services.kinds import check_in_time, check_not_returned
from core.allocation.services.lifecycle import finish_batch
from core.allocation.services.locks import FreeTasks
from core.conversation.selectors import is_held, is_reported_by
from core.people.models import User


def fill_verification(*, round_id: int) -> int:
    """Draw the captions that an open round lacks, some at a time so that nobody has to wait; return how many.

    Before, not all captions are there to draw from; afterwards its sample is what it was judged by.

    A caption that ceased to count since goes out of the sample, as far as nobody rated it yet, and another image comes
    in.
    """
    return fill_round(round_id=round_id, add=_add_missing)


def _add_missing(round: Round, *, at_most: int) -> int:
    assert round.verifies is not None
    # This lock leaves foreign keys to the pool free: taking a batch adds one while it has tasks locked. A stronger lock
    # could cause a deadlock.
    Pool.objects.select_for_update(no_key=True).get(pk=round.pool_id)
    _fit_places(round)
    kept = set(
        VerificationTask.objects.filter(round=round, caption__state=CaptionState.COUNTED).values_list(
            "caption", flat=True
        )
    )
    missing = _drawn_and_locked(round, round.verifies, kept, at_most)
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


def _drawn_and_locked(round: Round, verified: Round, kept: set[int], at_most: int) -> list[DrawnCaption]:
    """Draw and lock the captions that the sample lacks. The lock keeps managers from returning them meanwhile."""
    while True:
        drawn = draw_captions(captions_by_image(verified), seed=round.seed, size=round.sample_size, kept=kept)
        missing = [one for one in drawn if one.caption not in kept][:at_most]
        captions = Caption.objects.counted().filter(pk__in=[one.caption for one in missing]).order_by("pk")
        locked = captions.select_for_update(no_key=True).values_list("pk", flat=True)
        if len(locked) == len(missing):
            return missing


def _fit_places(round: Round) -> None:
    """Remove captions that do not count from the sample, or their free places if they were assigned already."""
    counts = Q(verification_task__caption__state=CaptionState.COUNTED)
    tasks = Task.objects.filter(pool=round.pool_id).filter(~counts | ~Q(places=round.replication))
    locked = list(tasks.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    Task.objects.filter(~counts, pk__in=locked, assignments__isnull=True).delete()
    Task.objects.filter(~counts, pk__in=locked).update(places=Greatest(F("places_taken"), 1))
    Task.objects.filter(counts, pk__in=locked).update(places=Greatest(F("places_taken"), round.replication))


def _comes_not_to(person: User, project: int) -> Q:
    image, language = VerificationBatchKind.image, VerificationBatchKind.language
    return not_for(person) | is_held(project, image, language) | is_reported_by(person, image)


class VerificationBatchKind(RoundBatchKind[VerificationBatch]):
    """Batches of captions to rate."""

    model, task_model, row_model = VerificationBatch, VerificationTask, Verdict
    copied = ("caption_id",)
    image, language = "verification_task__caption__image", "verification_task__round__language"
    free_tasks = (FreeTasks(_comes_not_to),)

    def check_still_qualified(self, person: User, work: Round) -> None:
        # Closing the round changes the row that a new batch refers to, so the two take turns.
        if not Round.objects.filter(pk=work.pk, state=RoundState.OPEN).exists():
            raise PoolClosedError
        super().check_still_qualified(person, work)

    def close_if_all_skipped(self, batch: VerificationBatch, now: datetime) -> None:
        if not batch.submitted_at and not to_rate(batch).exists():
            _submit(batch, [], now)


KIND = VerificationBatchKind()
return_batch, resume_batch = KIND.return_batch, KIND.resume_batch


def take_batch(*, round: Round, person: User, now: datetime, rng: Random) -> VerificationBatch | None:
    """Take captions of `round` to rate; see `BatchKind.take_batch`."""
    return KIND.take_batch(work=round, person=person, now=now, rng=rng)


def save_verdict(
    *, batch_id: UUID, person: User, position: int, rating: Rating | None, active_ms: int, now: datetime
) -> Verdict:
    """Save a rating of one caption. Until the batch is submitted, it can be changed and taken back (None).

    Raises
    ------
    VerificationBatch.DoesNotExist, Verdict.DoesNotExist, StaleStateError, BatchReturnedError, TaskGoneError
    LeaseExpiredError
        The rating is kept all the same.
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        _must_be_assigned(batch)
        verdict = Verdict.objects.select_related("assignment").get(batch=batch, position=position)
        check_not_gone(verdict)
        rate(verdict, batch.lease, rating, active_ms, now)
        KIND.renew(batch, person, now)
    check_in_time(batch.lease, now)
    return verdict


def save_verdicts(*, batch_id: UUID, person: User, ratings: Mapping[int, Rating], now: datetime) -> None:
    """Save many ratings at once, as the form without scripts sends them; also after the lease has ended.

    Raises
    ------
    VerificationBatch.DoesNotExist, StaleStateError, BatchReturnedError
    RatingsLeftOutError
        The ratings of the other captions are kept all the same.
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        _must_be_assigned(batch)
        left_out = rate_many(batch.verdicts.all(), ratings, now)
        KIND.renew(batch, person, now)
    if left_out:
        raise RatingsLeftOutError(left_out)


def submit_batch(*, batch_id: UUID, person: User, now: datetime) -> VerificationBatch:
    """Submit all ratings of a batch. Submitting twice has no further effect.

    If the lease ran out before, they are kept, flagged as late, and never counted.

    Raises
    ------
    VerificationBatch.DoesNotExist, BatchReturnedError, UnratedImagesError, NotQualifiedError
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        if batch.submitted_at:
            return batch
        KIND.check_may_submit(batch, person)
        verdicts = list(to_rate(batch))
        unrated = [verdict.position for verdict in verdicts if not verdict.rating]
        if unrated:
            raise UnratedImagesError(unrated)
        _submit(batch, verdicts, now)
    return batch


def _submit(batch: VerificationBatch, verdicts: Sequence[Verdict], now: datetime) -> None:
    counts = finish_batch(batch=batch.lease, now=now)
    batch.submitted_at = now
    batch.save(update_fields=["submitted_at"])
    tallies.verdicts_submitted(batch=batch, verdicts=verdicts, counts=counts)


def _must_be_assigned(batch: VerificationBatch) -> None:
    if batch.submitted_at:
        raise StaleStateError
    check_not_returned(batch.lease)
