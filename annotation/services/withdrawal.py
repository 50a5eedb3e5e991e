"""What happens to captions and ratings when their author withdraws consent or deletes their account."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from annotation.models import Caption, CaptionItem, CaptionState, Round, RoundKind, RoundState, Stage
from annotation.services import tallies
from annotation.services.gloss_removal import forget_glosses
from annotation.services.references import leave_out_of_references
from core.allocation.models import Assignment, AssignmentState, Pool
from core.allocation.services.lifecycle import reject_all_work, return_all_work, set_aside
from core.people.models import Project, User


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Return `person`'s batches; unless answers are kept, exclude them all; return how many.

    Captions that no longer count free their places. Late, excluded and returned ones are marked too, so that no
    decision of a manager makes them count again. References made from the captions, and the captions drawn for rating,
    are updated.
    """
    pools = Pool.objects.filter(round__project=project)
    # Rounds before batches, tasks and captions, in the same order as exclusion and drawing for verification.
    list(Round.objects.filter(project=project).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    if keeps_answers:
        return_all_work(pools=pools, person=person, now=now)
        _leave_corrections(person, pools)
        return 0
    # What is being submitted right now counts until it is withdrawn; what never counts is known beforehand.
    theirs = Assignment.objects.filter(batch__pool__in=pools, person=person, state=AssignmentState.DONE)
    uncounted = theirs.filter(item__isnull=False).exclude(item__caption__state=CaptionState.COUNTED).count()
    counted = reject_all_work(pools=pools, person=person, now=now) - uncounted
    written = Caption.objects.filter(round__project=project, author=person).exclude(state=CaptionState.WITHDRAWN)
    images = {pk: set[int]() for pk in pools.filter(batches__person=person).order_by().values_list("round", flat=True)}
    for round_id, image_id in written.values_list("round_id", "image_id"):
        images[round_id].add(image_id)
    forget_glosses(captions=written, rounds=[])
    written.update(state=CaptionState.WITHDRAWN)
    rounds = list(Round.objects.filter(pk__in=images).select_related("project", "language", "verifies").order_by("pk"))
    for round in rounds:
        tallies.recount(round=round, person=person)
    written_in = [round for round in rounds if images[round.pk]]
    for round in written_in:
        leave_out_of_references(round=round, images=images[round.pk], now=now)
    for round in written_in:
        draw_anew(round)
    return counted


def _leave_corrections(person: User, pools: QuerySet[Pool]) -> None:
    """Free the places of captions that nobody will rewrite: they stay returned, and others write.

    If the person comes back, `corrections.rewrite` takes the place again if it is still free.
    """
    to_correct = Assignment.objects.filter(
        batch__pool__in=pools, person=person, item__caption__state=CaptionState.RETURNED
    )
    set_aside(assignments=Assignment.objects.filter(pk__in=to_correct.values("pk")))


def draw_anew(round: Round) -> None:
    """Mark the figures of the rounds that verify `round` stale, and draw captions for those that are gone."""
    for verifying in Round.objects.filter(kind=RoundKind.VERIFICATION, verifies=round).order_by("pk"):
        tallies.figures_changed(round_id=verifying.pk)
    # A round that is not open draws when it is opened: now it would draw from an incomplete set.
    Round.objects.filter(verifies=round, state=RoundState.OPEN).update(awaits_tasks=True)


def return_open_batches(*, person: User, now: datetime) -> None:
    """Return all open batches of `person`, and erase drafts that were not submitted."""
    theirs = Round.objects.filter(captions__author=person).values("pk")
    list(Round.objects.filter(pk__in=theirs).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    pools = Pool.objects.filter(round__isnull=False)
    return_all_work(pools=pools, person=person, now=now)
    _leave_corrections(person, pools)
    drafts = CaptionItem.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED).exclude(text="")
    drafts.update(text="")
