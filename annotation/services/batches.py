"""Rate, then write: the steps of a batch of captions.

`core.allocation.services.kinds` has those that all batches share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

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
from annotation.rules import text_checks
from annotation.selectors.image_uses import comes_to_nobody, previously_seen
from annotation.selectors.work import items_of, language_of, warnings_by_position
from annotation.services import tallies
from annotation.services.round_batches import (
    MAX_SITTING,
    RatingsLeftOutError,
    RoundBatchKind,
    StaleStateError,
    UnratedImagesError,
    check_not_gone,
    rate,
    rate_many,
)
from core.allocation.models import Assignment, Batch, BatchState
from core.allocation.services.errors import BatchReturnedError
from core.allocation.services.kinds import check_in_time, credible_ms
from core.allocation.services.lifecycle import finish_batch
from core.allocation.services.locks import FreeTasks
from core.compiled_query import CompiledQuery, save_columns
from core.people.models import TextKind, User
from core.people.selectors.texts import notes_writing_marks
from crosslens_metrics.hidden_characters import visible_text


class InvalidCaptionError(Exception):
    """The text cannot be a caption."""

    def __init__(self, problem: text_checks.CaptionFault) -> None:
        super().__init__(problem.message)
        self.problem = problem


class StaleDraftError(Exception):
    """The text was changed elsewhere since the sender saw it; `item` has the stored one."""

    def __init__(self, item: CaptionItem) -> None:
        super().__init__(item.pk)
        self.item = item


class IncompleteBatchError(Exception):
    """Captions are missing or cannot be submitted; `problems` says why, by position."""

    def __init__(self, problems: dict[int, text_checks.CaptionFault]) -> None:
        super().__init__(problems)
        self.problems = problems


class UnconfirmedCaptionsError(Exception):
    """The captions at these `positions` were saved while being typed; their writer has not confirmed them."""

    def __init__(self, positions: list[int]) -> None:
        super().__init__(positions)
        self.positions = positions


class NearCopyError(Exception):
    """Captions at these `positions` are near copies of what screen 1 showed, and their writer was not warned yet."""

    def __init__(self, positions: list[int]) -> None:
        super().__init__(positions)
        self.positions = positions


MAX_ABSENCE = timedelta(days=1)
DRAFT_COLUMNS = (
    "text",
    "revision",
    "saved_at",
    "writing_ms",
    "is_autosaved",
    "pasted_characters",
    "longest_absence_ms",
)
# Saving a rating and saving a caption ask it: saves 0.4 ms.
ITEM = CompiledQuery(
    lambda batch, position: CaptionItem.objects.select_related("assignment").filter(batch=batch, position=position),
    batch=UUID,
    position=int,
)


class CaptionBatchKind(RoundBatchKind[CaptionBatch]):
    """Batches of images to rate and to describe."""

    model, task_model, row_model = CaptionBatch, CaptionTask, CaptionItem
    copied = ("image_id", "english_id")
    image, language = "caption_task__image", "caption_task__round__language"
    parts = (TextKind.RATING, TextKind.WRITING)
    free_tasks = (
        FreeTasks(lambda person, project: previously_seen(person, project) | comes_to_nobody(project)),
        FreeTasks(
            lambda person, project: previously_seen(person, project, besides_pilots=True) | comes_to_nobody(project)
        ),
    )

    def add_rows(self, work: Round, lease: Batch, assignments: list[Assignment], rng: Random) -> None:
        super().add_rows(work, lease, assignments, rng)
        if notes_writing_marks(work.project):
            items = CaptionItem.objects.filter(assignment__in=assignments)
            items.update(pasted_characters=0, longest_absence_ms=0)

    def free_tasks_of(self, work: Round) -> Sequence[FreeTasks]:
        return self.free_tasks if work.kind == RoundKind.MAIN else self.free_tasks[:1]

    def close_if_all_skipped(self, batch: CaptionBatch, now: datetime) -> None:
        if batch.stage != Stage.SUBMITTED and not items_of(batch).exists():
            _submit(batch, [], person=batch.lease.person, now=now)

    def to_lock(self) -> QuerySet[CaptionBatch]:
        # Every save locks the batch, and none needs its round.
        return CaptionBatch.objects.select_related("lease")


KIND = CaptionBatchKind()
return_batch, resume_batch = KIND.return_batch, KIND.resume_batch


def take_batch(*, round: Round, person: User, now: datetime, rng: Random) -> CaptionBatch | None:
    """Take a batch of `round`; see `BatchKind.take_batch`."""
    return KIND.take_batch(work=round, person=person, now=now, rng=rng)


def save_rating(
    *, batch_id: UUID, person: User, position: int, rating: Rating | None, active_ms: int, now: datetime
) -> CaptionItem:
    """Save a rating of screen 1. Until screen 2 opens, it can be changed and taken back (None).

    Raises
    ------
    CaptionBatch.DoesNotExist, CaptionItem.DoesNotExist, StaleStateError, LeaseExpiredError, BatchReturnedError
    TaskGoneError
    """
    with transaction.atomic():
        item = _locked_item(batch_id, person, position)
        _must_be_in_screen_1(item.batch, now)
        check_not_gone(item)
        rate(item, item.batch.lease, rating, active_ms, now)
        KIND.renew(item.batch, person, now)
    return item


def save_ratings(*, batch_id: UUID, person: User, ratings: dict[int, Rating], now: datetime) -> None:
    """Save many ratings at once, as the form without scripts sends them.

    Raises
    ------
    CaptionBatch.DoesNotExist, StaleStateError, LeaseExpiredError, BatchReturnedError
    RatingsLeftOutError
        The ratings of the other images are kept all the same.
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        _must_be_in_screen_1(batch, now)
        left_out = rate_many(batch.items.all(), ratings, now)
        KIND.renew(batch, person, now)
    if left_out:
        raise RatingsLeftOutError(left_out)


def open_writing(*, batch_id: UUID, person: User, now: datetime) -> CaptionBatch:
    """Go from screen 1 to screen 2, for good. Repeating it has no further effect.

    Raises
    ------
    CaptionBatch.DoesNotExist, UnratedImagesError, LeaseExpiredError, BatchReturnedError
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        if batch.stage != Stage.RATE:
            return batch
        _must_be_in_screen_1(batch, now)
        unrated = list(items_of(batch).filter(rating="").values_list("position", flat=True))
        if unrated:
            raise UnratedImagesError(unrated)
        batch.stage, batch.writing_opened_at = Stage.WRITE, now
        batch.save(update_fields=["stage", "writing_opened_at"])
        KIND.renew(batch, person, now)
    return batch


def save_draft(
    *,
    batch_id: UUID,
    person: User,
    position: int,
    text: str,
    revision: int,
    active_ms: int,
    now: datetime,
    confirms: bool = True,
    pasted_characters: int = 0,
    longest_absence_ms: int = 0,
) -> CaptionItem:
    """Save a text, letter for letter. `revision` is of the text that the writer began from.

    Without `confirms`, a changed text is only what was typed so far: its writer must confirm it before it can be
    submitted. Sending the same again changes nothing. After the lease ran out a draft is still kept.

    What was pasted and the longest absence are of the whole visit to the page. They are dropped where the writer has
    not agreed that they are noted.

    Raises
    ------
    CaptionBatch.DoesNotExist, CaptionItem.DoesNotExist, StaleStateError, BatchReturnedError, InvalidCaptionError,
    TaskGoneError, StaleDraftError
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
        check_not_gone(item)
        if text != item.text:
            if revision != item.revision:
                raise StaleDraftError(item)
            item.revision += 1
            item.is_autosaved = True
        if confirms and not text_checks.hard_error(text):
            item.is_autosaved = False
        began_writing_at = batch.writing_opened_at or now
        began_at = item.saved_at or began_writing_at
        item.writing_ms += credible_ms(active_ms, since=began_at, now=now, longest=MAX_SITTING)
        item.text, item.saved_at = text, now
        if item.pasted_characters is not None and item.longest_absence_ms is not None:
            item.pasted_characters = max(
                item.pasted_characters, min(pasted_characters, text_checks.MAX_DRAFT_CHARACTERS)
            )
            absence_ms = credible_ms(longest_absence_ms, since=began_writing_at, now=now, longest=MAX_ABSENCE)
            item.longest_absence_ms = max(item.longest_absence_ms, absence_ms)
        save_columns(item, *DRAFT_COLUMNS)
        KIND.renew(batch, person, now)
    return item


def confirm_captions(*, batch_id: UUID, person: User, revisions: Mapping[int, int], now: datetime) -> None:
    """Confirm captions that their writer has seen: those at the positions that still have these `revisions`.

    Raises
    ------
    CaptionBatch.DoesNotExist, StaleStateError, BatchReturnedError
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        if batch.stage != Stage.WRITE:
            raise StaleStateError
        if batch.lease.state == BatchState.RETURNED:
            raise BatchReturnedError
        seen = [item for item in items_of(batch) if revisions.get(item.position) == item.revision]
        for item in seen:
            item.is_autosaved = item.is_autosaved and text_checks.hard_error(item.text) is not None
        CaptionItem.objects.bulk_update(seen, ["is_autosaved"])
        KIND.renew(batch, person, now)


def submit_batch(*, batch_id: UUID, person: User, now: datetime, copies_seen: bool = False) -> CaptionBatch:
    """Submit all captions of a batch. Submitting twice has no further effect.

    If the lease ran out before, the captions are kept, flagged as late, and never counted.

    Raises
    ------
    CaptionBatch.DoesNotExist, StaleStateError, BatchReturnedError, IncompleteBatchError, NotQualifiedError
    UnconfirmedCaptionsError
    NearCopyError
        Nothing is submitted yet. With `copies_seen` the check is skipped.
    """
    with transaction.atomic():
        batch = KIND.locked(batch_id, person)
        if batch.stage == Stage.SUBMITTED:
            return batch
        if batch.stage != Stage.WRITE:
            raise StaleStateError
        KIND.check_may_submit(batch, person)
        items = list(items_of(batch).select_related("english"))
        problems = {item.position: problem for item in items if (problem := text_checks.hard_error(item.text))}
        if problems:
            raise IncompleteBatchError(problems)
        if unconfirmed := [item.position for item in items if item.is_autosaved]:
            raise UnconfirmedCaptionsError(unconfirmed)
        copied = [] if copies_seen else _warn_of_copies(batch, items)
        if not copied:
            _submit(batch, items, person=person, now=now)
    if copied:
        # After the transaction, which has stored the warnings.
        raise NearCopyError(copied)
    return batch


def _warn_of_copies(batch: CaptionBatch, items: list[CaptionItem]) -> list[int]:
    """Return the positions of near copies, which the writer is warned about before submitting.

    They are looked for once: by asking again with other texts, somebody could find out what the English captions said.
    """
    if not CaptionItem.objects.filter(batch=batch, copied_revision__isnull=False).exists():
        copied = [item for item in items if text_checks.is_copied(item.text, item.english.text)]
        for item in copied:
            item.copied_revision = item.revision
        CaptionItem.objects.bulk_update(copied, ["copied_revision"])
    return [item.position for item in items if item.copied_revision == item.revision]


def _submit(batch: CaptionBatch, items: list[CaptionItem], *, person: User, now: datetime) -> None:
    if not notes_writing_marks(batch.round.project):
        # The text that the writer has agreed to since the batch was taken does not say it.
        CaptionItem.objects.filter(batch=batch).update(pasted_characters=None, longest_absence_ms=None)
    warnings = warnings_by_position(items, language_of(batch.round_id))
    counts = finish_batch(batch=batch.lease, now=now)
    captions = Caption.objects.bulk_create(
        Caption(
            item=item,
            round_id=batch.round_id,
            image_id=item.image_id,
            author=person,
            guidelines_id=batch.guidelines_id,
            text=text_checks.as_stored(item.text),
            text_as_typed=visible_text(item.text),
            warnings=_codes(warnings[item.position], item),
            state=CaptionState.COUNTED if counts else CaptionState.LATE,
            submitted_at=now,
        )
        for item in items
    )
    batch.stage, batch.submitted_at = Stage.SUBMITTED, now
    batch.writing_opened_at = batch.writing_opened_at or now
    batch.save(update_fields=["stage", "submitted_at", "writing_opened_at"])
    tallies.submitted(batch=batch, captions=captions)


def _codes(warnings: list[text_checks.CaptionFault], item: CaptionItem) -> list[str]:
    codes = [warning.code for warning in warnings if warning is not text_checks.COPIED]
    return [*codes, text_checks.COPIED.code] if text_checks.is_copied(item.text, item.english.text) else codes


def _locked_item(batch_id: UUID, person: User, position: int) -> CaptionItem:
    # The batch's lock covers its items. Locking an item first could cause a deadlock.
    batch = KIND.locked(batch_id, person)
    item = ITEM.get(batch=batch_id, position=position)
    item.batch = batch
    return item


def _is_forgotten(person: User, batch: CaptionBatch) -> bool:
    """Whether the account was deleted, with its drafts; its open batches were returned then."""
    is_over = batch.lease.state != BatchState.OPEN
    return is_over and User.objects.filter(pk=person.pk, deleted_at__isnull=False).exists()


def _must_be_in_screen_1(batch: CaptionBatch, now: datetime) -> None:
    if batch.stage != Stage.RATE:
        raise StaleStateError
    check_in_time(batch.lease, now)
