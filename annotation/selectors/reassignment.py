"""Unfinished batches, and who could take them over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from annotation.models import AnnotatorState, AnnotatorStatus, Round, RoundKind, RoundState
from core.allocation.models import AssignmentState, Batch, BatchState
from core.people.models import LanguageSkill, Membership, Project, Role, User
from core.people.selectors.qualification import WORKING_LEVELS


@dataclass(frozen=True)
class OpenBatch:
    """An unfinished batch. `takers` could probably take it over; there are none if it cannot be moved."""

    batch: Batch
    images: int
    is_overdue: bool
    takers: Sequence[User]


def open_batches(project: Project, person: User, *, now: datetime) -> list[OpenBatch]:
    """List those that a person has in a project, by deadline."""
    assigned = Batch.objects.filter(state=BatchState.OPEN, pool__round__project=project, person=person)
    count = Count("assignments", filter=Q(assignments__state=AssignmentState.ASSIGNED))
    batches = assigned.annotate(images=count).select_related("person", "pool__round__language", "pool__round__verifies")
    ordered = list(batches.order_by("deadline", "pk"))
    rounds: list[Round] = [batch.pool.round for batch in ordered if batch.deadline > now]
    can_be_moved = [one for one in rounds if one.kind != RoundKind.VERIFICATION and one.state == RoundState.OPEN]
    takers = _takers(project, can_be_moved)
    return [OpenBatch(batch, batch.images, batch.deadline <= now, takers[batch.pool_id]) for batch in ordered]


def _takers(project: Project, rounds: Sequence[Round]) -> dict[int, list[User]]:
    """By pool: who speaks the language, is not paused in it, and has no open batch of the pool."""
    takers: dict[int, list[User]] = defaultdict(list)
    if not rounds:
        return takers
    annotators = Membership.objects.filter(project=project, role=Role.ANNOTATOR, user__reads_english=True)
    skills = LanguageSkill.objects.filter(
        level__in=WORKING_LEVELS,
        language__in={round.language_id for round in rounds},
        user__in=annotators.values("user"),
    )
    speakers = list(skills.select_related("user").order_by("user__username"))
    paused = set(
        AnnotatorStatus.objects.filter(project=project, state=AnnotatorState.PAUSED).values_list("person", "language")
    )
    pools = [round.pool_id for round in rounds]
    busy = set(Batch.objects.filter(state=BatchState.OPEN, pool__in=pools).values_list("pool", "person"))
    for round in rounds:
        takers[round.pool_id] = [
            skill.user
            for skill in speakers
            if skill.language_id == round.language_id
            and (skill.user_id, skill.language_id) not in paused
            and (round.pool_id, skill.user_id) not in busy
        ]
    return takers
