"""What becomes of captions and ratings when their author withdraws consent or deletes their account."""

from __future__ import annotations

from datetime import datetime

from allocation import services as allocation
from allocation.models import Assignment, AssignmentState, Pool
from annotation.models import Caption, CaptionState, Item, Round, RoundKind, RoundState, Stage
from annotation.services import tallies
from annotation.services.references import leave_out_of_references
from people.models import Project, User

STILL_DRAWN = (RoundState.PLANNED, RoundState.OPEN)
"""States in which a round that verifies gets other captions for those that count no longer."""


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Give back what `person` has in hand; unless answers are kept, let none of them count; returns how many did.

    Places of captions that count no longer are free for others. What was late, excluded or sent back is marked too, so
    that no decision of a manager brings it back. References made of the captions, and what was drawn to be rated by
    others, follow.
    """
    pools = Pool.objects.filter(round__project=project)
    if keeps_answers:
        allocation.return_all_work(pools=pools, person=person, now=now)
        return 0
    # Rounds before batches, tasks and captions, as where somebody is excluded, and captions are drawn to be rated.
    list(Round.objects.filter(project=project).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    # Ratings of others' captions are answers, too; of captions their own state says it.
    verdicts = Assignment.objects.filter(
        batch__pool__round__project=project, verdict__isnull=False, person=person, state=AssignmentState.DONE
    )
    counted = verdicts.count() + Caption.objects.counted().filter(round__project=project, author=person).count()
    allocation.reject_all_work(pools=pools, person=person, now=now)
    written = Caption.objects.filter(round__project=project, author=person).exclude(state=CaptionState.WITHDRAWN)
    images = {pk: set[int]() for pk in pools.filter(batches__person=person).order_by().values_list("round", flat=True)}
    for round_id, image_id in written.values_list("round_id", "image_id"):
        images[round_id].add(image_id)
    written.update(state=CaptionState.WITHDRAWN)
    rounds = list(Round.objects.filter(pk__in=images).select_related("project", "language", "verifies").order_by("pk"))
    for round in rounds:
        tallies.recount(round=round, person=person)
    written_in = [round for round in rounds if images[round.pk]]
    for round in written_in:
        leave_out_of_references(round=round, images=images[round.pk], now=now)
    for round in written_in:
        _drawn_anew(round)
    return counted


def _drawn_anew(round: Round) -> None:
    """Have the figures of what verifies `round` computed again, and captions drawn for those that are gone."""
    for verifying in Round.objects.filter(kind=RoundKind.VERIFICATION, verifies=round).order_by("pk"):
        tallies.figures_changed(round_id=verifying.pk)
    Round.objects.filter(verifies=round, state__in=STILL_DRAWN).update(awaits_tasks=True)


def forget(*, person: User, now: datetime) -> None:
    """Give back what `person` has in hand anywhere, and erase drafts that were not handed in."""
    allocation.return_all_work(pools=Pool.objects.filter(round__isnull=False), person=person, now=now)
    drafts = Item.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED).exclude(text="")
    drafts.update(text="")
