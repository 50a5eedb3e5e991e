"""A manager's decisions about an annotator in one language: qualified, paused, answers excluded or not.

Locks are taken in this order: the person, the language's rounds, batches, tasks, tallies, the audit log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, Q

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionState,
    CorrectionRequest,
    Exclusion,
    Round,
    RoundKind,
    RoundState,
)
from annotation.services import tallies
from annotation.services.campaign import locked_rounds
from core.allocation.models import Assignment, Batch, Pool
from core.allocation.services.lifecycle import reject_all_work, restore_work, return_batches, set_aside
from core.languages.models import Language
from core.people.models import Consent, Project, Role, User
from core.people.selectors.qualification import still_takes_part
from core.people.services import audit_log
from core.people.services.members import lock_person


@dataclass(frozen=True)
class UndoneExclusion:
    """How many captions count again, and how many others have lost their places to other people."""

    restored: int
    left_out: int


def qualify(
    *, project: Project, person: User, language: Language, by: User, now: datetime, reason: str = ""
) -> AnnotatorStatus:
    """Qualify a person for rounds that are for qualified annotators; it also ends a pause."""
    with transaction.atomic():
        lock_person(person)
        status = _decide(project, person, language, AnnotatorState.QUALIFIED, reason, by, now)
        _log(project, person, language, "annotator.qualified", by, now, reason=reason)
    return status


def pause(*, project: Project, person: User, language: Language, reason: str, by: User, now: datetime) -> int:
    """Pause a person in a language: return their batches, keeping drafts. Returns how many batches.

    What they submitted still counts, unless it is excluded.
    """
    with transaction.atomic():
        lock_person(person)
        rounds = locked_rounds(project, language)
        _decide(project, person, language, AnnotatorState.PAUSED, reason, by, now)
        theirs = Batch.objects.filter(person=person, pool__in=[round.pool_id for round in rounds])
        returned = return_batches(batches=theirs, now=now)
        _log(project, person, language, "annotator.paused", by, now, reason=reason, batches=len(returned))
    return len(returned)


def undo_decision(
    *, project: Project, person: User, language: Language, by: User, now: datetime
) -> AnnotatorStatus | None:
    """Undo the last decision: a paused person may work again, as qualified as before; a qualified one no longer is.

    Returns the decision that is in force now, if any.
    """
    with transaction.atomic():
        lock_person(person)
        status = AnnotatorStatus.objects.filter(project=project, person=person, language=language).first()
        if status is None:
            return None
        back = None
        if status.state == AnnotatorState.PAUSED and status.was_qualified:
            back = _decide(project, person, language, AnnotatorState.QUALIFIED, "", by, now)
        else:
            status.delete()
        _log(project, person, language, "annotator.lifted", by, now, before=status.state)
    return back


def exclude(*, project: Project, person: User, language: Language, reason: str, by: User, now: datetime) -> Exclusion:
    """Exclude what a person wrote or rated in a language, until it is undone; other people get those places.

    Their unfinished batches are returned, and they get no more work in the language meanwhile. Repeating it changes
    nothing.
    """
    with transaction.atomic():
        lock_person(person)
        rounds = locked_rounds(project, language)
        there = Exclusion.objects.filter(project=project, person=person, language=language, undone_at=None).first()
        if there:
            return there
        pools = Pool.objects.filter(round__in=rounds)
        reject_all_work(pools=pools, person=person, now=now)
        captions = Caption.objects.filter(
            round__in=rounds, author=person, state__in=[CaptionState.COUNTED, CaptionState.RETURNED]
        ).update(state=CaptionState.EXCLUDED)
        exclusion = Exclusion.objects.create(
            project=project, person=person, language=language, reason=reason, by=by, at=now, captions=captions
        )
        _settle(rounds, person)
        _log(project, person, language, "annotator.excluded", by, now, reason=reason, captions=captions)
    return exclusion


def undo_exclusion(*, exclusion: Exclusion, by: User, now: datetime) -> UndoneExclusion:
    """Include excluded answers again, as far as nobody else has their places. Repeating it changes nothing."""
    project, person, language = exclusion.project, exclusion.person, exclusion.language
    with transaction.atomic():
        lock_person(person)
        rounds = locked_rounds(project, language)
        if not Exclusion.objects.filter(pk=exclusion.pk, undone_at=None).update(undone_at=now, undone_by=by):
            return UndoneExclusion(0, 0)
        excluded = Caption.objects.filter(round__in=rounds, author=person, state=CaptionState.EXCLUDED)
        restored = restore_work(assignments=_excluded_work(project, person, rounds))
        free = excluded.filter(item__in=restored)
        awaited = CorrectionRequest.objects.filter(caption__in=free, answered_at=None).values_list("caption", flat=True)
        to_correct = list(free.filter(pk__in=list(awaited)).values_list("pk", flat=True))
        Caption.objects.filter(pk__in=to_correct).update(state=CaptionState.RETURNED)
        count = len(to_correct) + free.update(state=CaptionState.COUNTED)
        if to_correct and not still_takes_part(person, project.pk, Role.ANNOTATOR):
            # Nobody will rewrite them, and others can have their places.
            set_aside(assignments=Assignment.objects.filter(item__caption__in=to_correct))
        undone = UndoneExclusion(count, excluded.count())
        _settle(rounds, person)
        _log(project, person, language, "exclusion.undone", by, now, restored=undone.restored, left_out=undone.left_out)
    return undone


def _excluded_work(project: Project, person: User, rounds: list[Round]) -> Any:
    # Ratings have no state of their own: those that their author withdrew stay excluded.
    withdrawn = Consent.objects.filter(text__project=project, user=person, answers_kept=False)
    last = withdrawn.aggregate(last=Max("withdrawn_at"))["last"]
    rated = Q(verdict__batch__submitted_at__gt=last) if last else Q(verdict__isnull=False)
    excluded = Q(item__caption__state=CaptionState.EXCLUDED) | rated
    theirs = Assignment.objects.filter(excluded, person=person, batch__pool__round__in=rounds)
    # Decided about one by one.
    return Assignment.objects.filter(
        pk__in=theirs.exclude(item__caption__detail_decision__is_left_out=True).values("pk")
    )


def _decide(
    project: Project,
    person: User,
    language: Language,
    state: AnnotatorState,
    reason: str,
    by: User,
    now: datetime,
) -> AnnotatorStatus:
    there = AnnotatorStatus.objects.filter(project=project, person=person, language=language)
    was_qualified = state == AnnotatorState.PAUSED and (
        there.filter(Q(state=AnnotatorState.QUALIFIED) | Q(was_qualified=True)).exists()
    )
    return AnnotatorStatus.objects.update_or_create(
        project=project,
        person=person,
        language=language,
        defaults={"state": state, "was_qualified": was_qualified, "reason": reason, "by": by, "at": now},
    )[0]


def _settle(rounds: list[Round], person: User) -> None:
    """Update what depends on the captions: tallies, and the tasks of verification."""
    for round in rounds:
        if round.tallies.filter(person=person).exists():
            tallies.recount(round=round, person=person)
    rating = [each for each in rounds if each.kind == RoundKind.VERIFICATION]
    for round in rating:
        tallies.figures_changed(round_id=round.pk)
    is_open = [each.pk for each in rating if each.state == RoundState.OPEN]
    Round.objects.filter(pk__in=is_open).update(awaits_tasks=True)


def _log(
    project: Project, person: User, language: Language, action: str, by: User, now: datetime, **details: Any
) -> None:
    said = {key: value for key, value in details.items() if value != ""}
    audit_log.record(project=project, action=action, about=language.pk, by=by, person=person, now=now, details=said)
