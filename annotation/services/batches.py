"""Rate, then write: the life of a batch, one transaction a step.

Every step locks the batch's rows first, so that two tabs, a double click and a late request take turns.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction

from allocation.models import Assignment, Batch, BatchState
from allocation.services import assigning, lifecycle
from allocation.services.assigning import Prepare
from allocation.services.errors import BatchReturnedError, LeaseExpiredError
from allocation.services.lifecycle import finish_batch, is_half_over, renew_lease
from allocation.services.locks import lock_person
from annotation.models import (
    Caption,
    CaptionBatch,
    CaptionItem,
    CaptionState,
    CaptionTask,
    Rating,
    Round,
    RoundKind,
    Stage,
)
from annotation.permissions import check_still_qualified, missing_requirements
from annotation.rules import text_checks
from annotation.selectors.previously_seen import previously_seen
from annotation.selectors.work import language_of, warnings_by_position, workable
from annotation.services import tallies
from people.models import User
from people.selectors.qualification import MissingRequirement, NotQualifiedError

# (ours) Longer than this between two signs of life of one image is not time on task, whatever a browser says.
LONGEST_SITTING = timedelta(minutes=30)


class StaleStateError(Exception):
    """The batch is past the stage that the request is about."""


class UnratedImagesError(Exception):
    """Screen 2 opens when every image is rated."""

    def __init__(self, positions: list[int]) -> None:
        super().__init__(positions)
        self.positions = positions


class InvalidCaptionError(Exception):
    """A text that no caption can be."""

    def __init__(self, problem: text_checks.CaptionFault) -> None:
        super().__init__(problem.message)
        self.problem = problem


class StaleDraftError(Exception):
    """The text was changed elsewhere since the sender saw it; `item` holds what is stored."""

    def __init__(self, item: CaptionItem) -> None:
        super().__init__(item.pk)
        self.item = item


class IncompleteBatchError(Exception):
    """Captions are missing or cannot be submitted: {position: what is wrong}."""

    def __init__(self, problems: dict[int, text_checks.CaptionFault]) -> None:
        super().__init__(problems)
        self.problems = problems


class NearCopyError(Exception):
    """Captions at these `positions` are almost what screen 1 showed, and their writer was not told yet."""

    def __init__(self, positions: list[int]) -> None:
        super().__init__(positions)
        self.positions = positions


def take_batch(*, round: Round, person: User, now: datetime, rng: Random) -> CaptionBatch | None:
    """Hand `person` a batch of `round` (the open one, where there is one), or None when nothing is left for them.

    Raises
    ------
    NotQualifiedError, PoolClosedError, PoolBusyError
    """
    found = missing_requirements(person, round)
    if found:
        raise NotQualifiedError(found)

    exclusions = [previously_seen(person, round)]
    if round.kind == RoundKind.MAIN:
        exclusions.append(previously_seen(person, round, besides_pilots=True))
    for without in exclusions:
        batch = assigning.take_batch(
            pool=round.pool,
            person=person,
            now=now,
            rng=rng,
            prepare=prepare_items(round, person),
            without=without,
        )
        if batch:
            return CaptionBatch.objects.select_related("lease", "round").get(pk=batch.pk)
    return None


def prepare_items(round: Round, person: User) -> Prepare:
    """What makes the rows of a batch of `round` when its tasks are handed to `person`."""

    def prepare(batch: Batch, assignments: list[Assignment]) -> None:
        check_still_qualified(person, round)
        caption_batch = CaptionBatch.objects.create(lease=batch, round=round, guidelines_id=round.guidelines_id)
        tasks = CaptionTask.objects.in_bulk([assignment.task_id for assignment in assignments])
        CaptionItem.objects.bulk_create(
            CaptionItem(
                assignment=assignment,
                batch=caption_batch,
                person=person,
                position=assignment.position,
                image_id=tasks[assignment.task_id].image_id,
                english_id=tasks[assignment.task_id].english_id,
            )
            for assignment in assignments
        )

    return prepare


def save_rating(
    *, batch_id: UUID, person: User, position: int, rating: Rating, active_ms: int, now: datetime
) -> CaptionItem:
    """Keep a rating of screen 1; it may be changed until screen 2 opens.

    Raises
    ------
    CaptionBatch.DoesNotExist, Item.DoesNotExist, StaleStateError, LeaseExpiredError, BatchReturnedError
    """
    with transaction.atomic():
        item = _locked_item(batch_id, person, position)
        _must_be_in_screen_1(item.batch, now)
        item.rating_ms += credible_ms(active_ms, since=item.rated_at or item.batch.lease.taken_at, now=now)
        item.rating, item.rated_at = rating, now
        item.save(update_fields=["rating", "rated_at", "rating_ms"])
        _renew_lease(item.batch, person, now)
    return item


def save_ratings(*, batch_id: UUID, person: User, ratings: dict[int, Rating], now: datetime) -> None:
    """Keep many ratings at once, as the form without scripts sends them."""
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        _must_be_in_screen_1(batch, now)
        changed = []
        for item in batch.items.filter(position__in=ratings):
            if item.rating != ratings[item.position]:
                item.rating, item.rated_at = ratings[item.position], now
                changed.append(item)
        CaptionItem.objects.bulk_update(changed, ["rating", "rated_at"])
        _renew_lease(batch, person, now)


def open_writing(*, batch_id: UUID, person: User, now: datetime) -> CaptionBatch:
    """Go from screen 1 to screen 2, for good. Asked twice, it is done once.

    Raises
    ------
    CaptionBatch.DoesNotExist, UnratedImagesError, LeaseExpiredError, BatchReturnedError
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        if batch.stage != Stage.RATE:
            return batch
        _must_be_in_screen_1(batch, now)
        unrated = list(workable(batch).filter(rating="").values_list("position", flat=True))
        if unrated:
            raise UnratedImagesError(unrated)
        batch.stage, batch.writing_opened_at = Stage.WRITE, now
        batch.save(update_fields=["stage", "writing_opened_at"])
        _renew_lease(batch, person, now)
    return batch


def save_draft(
    *, batch_id: UUID, person: User, position: int, text: str, revision: int, active_ms: int, now: datetime
) -> CaptionItem:
    """Keep what was typed so far, letter for letter. `revision` is of the text that the writer began from.

    Sending the same again changes nothing. After the lease ran out a draft is still kept.

    Raises
    ------
    CaptionBatch.DoesNotExist, CaptionItem.DoesNotExist, StaleStateError, BatchReturnedError, InvalidCaptionError,
    StaleDraftError
    """
    problem = text_checks.unstorable(text)
    if problem:
        raise InvalidCaptionError(problem)
    with transaction.atomic():
        item = _locked_item(batch_id, person, position)
        batch = item.batch
        if batch.stage != Stage.WRITE:
            raise StaleStateError
        if batch.lease.state == BatchState.RETURNED or _is_forgotten(person, batch):
            raise BatchReturnedError
        if text != item.text:
            if revision != item.revision:
                raise StaleDraftError(item)
            item.revision += 1
        began_at = item.saved_at or batch.writing_opened_at or now
        item.writing_ms += credible_ms(active_ms, since=began_at, now=now)
        item.text, item.saved_at = text, now
        item.save(update_fields=["text", "revision", "saved_at", "writing_ms"])
        _renew_lease(batch, person, now)
    return item


def submit_batch(*, batch_id: UUID, person: User, now: datetime, copies_seen: bool = False) -> CaptionBatch:
    """Submit all captions of a batch. Submitting twice has no further effect.

    If the lease ran out before, the captions are kept, flagged as late, and never counted.

    Raises
    ------
    CaptionBatch.DoesNotExist, StaleStateError, BatchReturnedError, IncompleteBatchError, NotQualifiedError
    NearCopyError
        Nothing is submitted yet. With `copies_seen` the check is skipped.
    """
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        if batch.stage == Stage.SUBMITTED:
            return batch
        if batch.stage != Stage.WRITE:
            raise StaleStateError
        if batch.lease.state == BatchState.RETURNED:
            raise BatchReturnedError
        stops = _lost_requirements(person, batch)
        if stops:
            raise NotQualifiedError(stops)
        items = list(workable(batch).select_related("english"))
        problems = {item.position: problem for item in items if (problem := text_checks.hard_error(item.text))}
        if problems:
            raise IncompleteBatchError(problems)
        copied = [] if copies_seen else _copied(batch, items)
        if not copied:
            _submit(batch, items, person=person, now=now)
    if copied:
        # After the transaction, which stores what the writer is shown.
        raise NearCopyError(copied)
    return batch


def _copied(batch: CaptionBatch, items: list[CaptionItem]) -> list[int]:
    """Return the positions of captions that are almost copied, to warn the writer before submitting.

    They are searched only once: asking again with other texts would reveal the English captions.
    """
    if not CaptionItem.objects.filter(batch=batch, copied_revision__isnull=False).exists():
        for item in items:
            if text_checks.is_copied(item.text, item.english.text):
                item.copied_revision = item.revision
        CaptionItem.objects.bulk_update(items, ["copied_revision"])
    return [item.position for item in items if item.copied_revision == item.revision]


def _submit(batch: CaptionBatch, items: list[CaptionItem], *, person: User, now: datetime) -> None:
    warnings = warnings_by_position(items, language_of(batch.round_id))
    counts = finish_batch(batch=batch.lease, now=now)
    captions = Caption.objects.bulk_create(
        Caption(
            item=item,
            round_id=batch.round_id,
            image_id=item.image_id,
            author=person,
            guidelines_id=batch.guidelines_id,
            text=text_checks.as_nfc(item.text).strip(),
            text_as_typed=item.text,
            warnings=_codes(warnings[item.position], item),
            state=CaptionState.COUNTED if counts else CaptionState.LATE,
            submitted_at=now,
        )
        for item in items
    )
    batch.stage, batch.submitted_at = Stage.SUBMITTED, now
    batch.save(update_fields=["stage", "submitted_at"])
    tallies.submitted(batch=batch, captions=captions)


def _codes(warnings: list[text_checks.CaptionFault], item: CaptionItem) -> list[str]:
    codes = [warning.code for warning in warnings if warning is not text_checks.COPIED]
    return [*codes, text_checks.COPIED.code] if text_checks.is_copied(item.text, item.english.text) else codes


def return_batch(*, batch_id: UUID, person: User, now: datetime) -> None:
    """Return a batch's places to the round. What was rated and written stays with the batch."""
    with transaction.atomic():
        batch = _locked_batch(batch_id, person)
        lifecycle.return_batch(batch=batch.lease, now=now)


def resume_batch(*, batch_id: UUID, person: User, now: datetime) -> Batch:
    """Resume an expired or returned batch, as far as its images are still free.

    Raises
    ------
    NotQualifiedError, StaleStateError, and those of allocation.services.assigning.resume_batch
    """
    batch = CaptionBatch.objects.select_related("round__project", "round__language").get(
        pk=batch_id, lease__person=person
    )
    if batch.stage == Stage.SUBMITTED:
        raise StaleStateError
    found = missing_requirements(person, batch.round)
    if found:
        raise NotQualifiedError(found)
    with transaction.atomic():
        lock_person(person)
        check_still_qualified(person, batch.round)
        return assigning.resume_batch(batch_id=batch_id, person=person, now=now)


def _locked_item(batch_id: UUID, person: User, position: int) -> CaptionItem:
    # The batch's lock covers its items; locking an item first could wait in a circle with who holds the batch.
    batch = _locked_batch(batch_id, person)
    item = CaptionItem.objects.get(batch=batch, position=position)
    item.batch = batch
    return item


def _locked_batch(batch_id: UUID, person: User) -> CaptionBatch:
    return (
        CaptionBatch.objects.select_for_update(no_key=True, of=("self", "lease"))
        .select_related("lease")
        .get(pk=batch_id, lease__person=person)
    )


def _lost_requirements(person: User, batch: CaptionBatch) -> list[MissingRequirement]:
    """Whether the role or the consent that the batch was taken with is gone: nothing counts without them."""
    return [found for found in missing_requirements(person, batch.round) if found.code in ("role", "consent")]


def _is_forgotten(person: User, batch: CaptionBatch) -> bool:
    """Whether the account was deleted, with its drafts; its open batches were returned then."""
    is_over = batch.lease.state != BatchState.OPEN
    return is_over and User.objects.filter(pk=person.pk, deleted_at__isnull=False).exists()


def _renew_lease(batch: CaptionBatch, person: User, now: datetime) -> None:
    if is_half_over(batch=batch.lease, now=now) and not _lost_requirements(person, batch):
        renew_lease(batch=batch.lease, now=now)


def _must_be_in_screen_1(batch: CaptionBatch, now: datetime) -> None:
    if batch.stage != Stage.RATE:
        raise StaleStateError
    if batch.lease.state == BatchState.RETURNED:
        raise BatchReturnedError
    if batch.lease.state != BatchState.OPEN or batch.lease.deadline <= now:
        raise LeaseExpiredError


def credible_ms(active_ms: int, *, since: datetime, now: datetime) -> int:
    """What a browser says it was active, at most as long as the clock ran; a repeated request adds nothing."""
    longest = min(now - since, LONGEST_SITTING)
    return max(0, min(active_ms, int(longest.total_seconds() * 1000)))
