"""Common to batches of captions to write and to rate; `core.allocation.services.kinds` has their life."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from annotation.models import CaptionItem, Rating, Round, RoundBatch, Verdict
from annotation.permissions import check_still_qualified, missing_requirements, takes_part
from annotation.selectors.guidelines import part_of
from core.allocation.models import NOT_SHOWN, Assignment, Batch
from core.allocation.services.errors import TaskGoneError
from core.allocation.services.kinds import BatchKind, check_not_returned, credible_ms
from core.allocation.services.lifecycle import is_half_over, renew_lease
from core.compiled_query import save_columns
from core.conversation.selectors import is_held
from core.people.models import TextKind, User
from core.people.selectors.qualification import MissingRequirement, NotQualifiedError
from core.people.services.texts import kept_translation

# (ours) Longer than this between two signs of life of one image is not active time, whatever a browser says.
MAX_SITTING = timedelta(minutes=30)
BatchT = TypeVar("BatchT", bound=RoundBatch)
RatedT = TypeVar("RatedT", CaptionItem, Verdict)


class StaleStateError(Exception):
    """The batch is past the stage that the request is about."""


class UnratedImagesError(Exception):
    """Every image must be rated before the next step."""

    def __init__(self, positions: list[int]) -> None:
        super().__init__(positions)
        self.positions = positions


class RatingsLeftOutError(TaskGoneError):
    """Images of a form were reassigned or reported; `numbers` as the form had them. The other ratings were saved."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class RoundBatchKind(BatchKind[BatchT, Round]):
    """A kind of batch of a round, with a row for each task. `copied` are the columns that a row has from its task."""

    task_model: type[Any]
    row_model: type[Any]
    copied: tuple[str, ...]
    image: str
    """The path from a task to its image."""
    language: str
    """The path from a task to the language that is worked in."""
    parts: tuple[TextKind, ...] = (TextKind.RATING,)
    """What is read of the guidelines."""

    def held_back(self, project_id: int) -> Q:
        return is_held(project_id, self.image, self.language)

    def work_of(self, batch: BatchT) -> Round:
        return batch.round

    def missing_requirements(self, person: User, work: Round) -> list[MissingRequirement]:
        return missing_requirements(person, work)

    def check_still_qualified(self, person: User, work: Round) -> None:
        check_still_qualified(person, work)

    def add_rows(self, work: Round, lease: Batch, assignments: list[Assignment], rng: Random) -> None:
        shown = {
            f"{part.value}_translation": kept_translation(
                project=work.project, kind=part, original=part_of(work.guidelines, part), now=lease.taken_at
            )
            for part in self.parts
        }
        rating = shown["rating_translation"]
        batch = self.model._default_manager.create(
            lease=lease,
            round=work,
            guidelines_id=work.guidelines_id,
            guidelines_language=rating.language_id if rating else "",
            **shown,
        )
        tasks = self.task_model.objects.in_bulk([one.task_id for one in assignments])
        self.row_model.objects.bulk_create(
            self.row_model(
                assignment=assignment,
                batch=batch,
                person=lease.person,
                position=assignment.position,
                **{column: getattr(tasks[assignment.task_id], column) for column in self.copied},
            )
            for assignment in assignments
        )

    def check_resumable(self, batch: BatchT) -> None:
        if batch.submitted_at:
            raise StaleStateError

    def check_may_submit(self, batch: BatchT, person: User) -> None:
        """
        Raises
        ------
        BatchReturnedError, NotQualifiedError
        """
        check_not_returned(batch.lease)
        if missing := _lost_requirements(batch, person):
            raise NotQualifiedError(missing)

    def renew(self, batch: BatchT, person: User, now: datetime) -> None:
        """Renew the lease in its second half, unless role or consent was lost."""
        if is_half_over(batch=batch.lease, now=now) and not _lost_requirements(batch, person):
            renew_lease(batch=batch.lease, now=now)


def _lost_requirements(batch: RoundBatch, person: User) -> list[MissingRequirement]:
    """Return the role or the consent that the batch needs, if it was lost: nothing counts without them."""
    if takes_part(person, batch.round):
        return []
    return [missing for missing in missing_requirements(person, batch.round) if missing.code in ("role", "consent")]


def check_not_gone(row: CaptionItem | Verdict) -> None:
    """Raise TaskGoneError if the row of a locked batch, read with its assignment, was reassigned or reported."""
    if row.assignment.state in NOT_SHOWN:
        raise TaskGoneError


def rate(row: CaptionItem | Verdict, lease: Batch, rating: Rating | None, active_ms: int, now: datetime) -> None:
    """Save the rating of one image of a locked batch, or take it back (None)."""
    since = row.rated_at or lease.taken_at
    row.rating_ms += credible_ms(active_ms, since=since, now=now, longest=MAX_SITTING)
    row.rating, row.rated_at = (rating, now) if rating else ("", None)
    save_columns(row, "rating", "rated_at", "rating_ms")


def rate_many(rows: QuerySet[RatedT], ratings: Mapping[int, Rating], now: datetime) -> list[int]:
    """Save many ratings of a locked batch at once, by position, as the form without scripts sends them.

    Return the numbers, on the form, of rows that were reassigned or reported: their ratings are left out.
    """
    sent = rows.filter(position__in=ratings).select_related("assignment")
    changed = [row for row in sent if row.rating != ratings[row.position]]
    kept = [row for row in changed if row.assignment.state not in NOT_SHOWN]
    for row in kept:
        row.rating, row.rated_at = ratings[row.position], now
    rows.model._default_manager.bulk_update(kept, ["rating", "rated_at"])
    left_out = [row.position for row in changed if row.assignment.state in NOT_SHOWN]
    gone = rows.filter(assignment__state__in=NOT_SHOWN).exclude(position__in=ratings) if left_out else ()
    return [position - sum(row.position < position for row in gone) for position in sorted(left_out)]
