"""The same step for many rounds: each in a transaction of its own, so that one that is refused undoes no other.

A round that has changed since the manager looked at it, also by a double click, is left out with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Feedback, Round
from annotation.permissions import feedback_readers
from annotation.rules.campaign import RoundAction, UnfinishedBatches
from annotation.services import campaign
from annotation.services.feedback import clean_note, send_feedback
from annotation.services.projects import change_locked, changed_settings, lock_to_change
from core.people.models import User


@dataclass(frozen=True)
class BulkOutcome:
    """What happened to one round: done, for so many people if they were written to, or left out and why."""

    round: Round
    why_left_out: str = ""
    people: int = 0

    @property
    def is_done(self) -> bool:
        return not self.why_left_out


def take_step(
    *,
    rounds: Sequence[Round],
    action: RoundAction,
    by: User,
    now: datetime,
    reason: str = "",
    assigned: UnfinishedBatches | None = None,
) -> list[BulkOutcome]:
    """Open, close, reopen, accept, reject or skip each of `rounds`."""
    about = {"action": action, "by": by, "now": now, "reason": reason, "assigned": assigned}
    return [_outcome(campaign.take_step, round, about) for round in rounds]


def return_batches(*, rounds: Sequence[Round], by: User, now: datetime) -> list[BulkOutcome]:
    """Return all unfinished batches of rounds that are not open."""
    return [_outcome(campaign.take_back, round, {"by": by, "now": now}) for round in rounds]


def change_settings(
    *, rounds: Sequence[Round], changes: Mapping[str, Any], by: User, now: datetime
) -> list[BulkOutcome]:
    """Change only the settings named in `changes`, fields of `RoundSettings`, of each of `rounds`."""
    return [_change(round, changes, by=by, now=now) for round in rounds]


def write_to_people(*, rounds: Sequence[Round], text: str, by: User, now: datetime) -> list[BulkOutcome]:
    """Send the annotators of each round's language the same feedback, each person once.

    People who have not confirmed this text yet get no second copy.

    Raises FeedbackError: the text is empty, too long, or cannot be stored.
    """
    text = clean_note(text)
    reached: set[int] = set()
    return [_write(round, text, reached, by=by, now=now) for round in rounds]


def _outcome(step: Callable[..., Any], round: Round, about: Mapping[str, Any]) -> BulkOutcome:
    try:
        done = step(round=round, **about)
    except campaign.StepNotAllowedError as refused:
        return BulkOutcome(round, str(refused))
    return BulkOutcome(done if isinstance(done, Round) else round)


def _change(round: Round, changes: Mapping[str, Any], *, by: User, now: datetime) -> BulkOutcome:
    with transaction.atomic():
        # Read under the lock: another manager may just have changed another setting.
        locked = lock_to_change(round)
        after, why_not = changed_settings(locked, changes)
        if not why_not:
            change_locked(round=locked, settings=after, by=by, now=now)
    return BulkOutcome(locked, why_not)


def _write(round: Round, text: str, reached: set[int], *, by: User, now: datetime) -> BulkOutcome:
    with transaction.atomic():
        # Two clicks take turns, and the second finds what the first wrote.
        campaign.locked_rounds(round.project, round.language)
        everybody = list(feedback_readers(round).exclude(pk__in=reached))
        if not everybody:
            return BulkOutcome(round, _("It has no annotators, or they get the message in another language."))
        waiting = Feedback.objects.filter(project=round.project_id, text=text, by=by, acknowledged_at=None)
        have_it = set(waiting.filter(caption=None, person__in=everybody).values_list("person", flat=True))
        people = [person for person in everybody if person.pk not in have_it]
        if not people:
            return BulkOutcome(round, _("Everybody has this message already and has not confirmed it yet."))
        send_feedback(round=round, people=people, text=text, by=by, now=now)
    reached.update(person.pk for person in everybody)
    return BulkOutcome(round, people=len(people))
