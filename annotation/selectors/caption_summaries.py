"""What happened to the captions of one author, in numbers alone: nobody's rating of a caption is among them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from annotation.models import Caption, CaptionState, CorrectionRequest, Release, RoundKind, RoundState, Verdict
from core.allocation.models import AssignmentState
from core.jobs.models import JobState
from core.people.models import User


@dataclass(frozen=True)
class CaptionSummary:
    """How many captions were submitted, and of these were rated by others, returned for correction, released."""

    submitted: int
    rated: int
    returned: int
    released: int


def summary_of(author: User) -> CaptionSummary:
    rated = Verdict.objects.filter(caption=OuterRef("pk"), assignment__state=AssignmentState.DONE)
    returned = CorrectionRequest.objects.filter(caption=OuterRef("pk"))
    releases = Release.objects.filter(
        project=OuterRef("round__project"),
        state=JobState.DONE,
        until__gte=OuterRef("submitted_at"),
        created_at__gte=OuterRef("round__decided_at"),
    )
    is_released = Q(
        Exists(releases), state=CaptionState.COUNTED, round__kind=RoundKind.MAIN, round__state=RoundState.ACCEPTED
    )
    counts = Caption.objects.filter(author=author).aggregate(
        submitted=Count("pk"),
        rated=Count("pk", filter=Q(Exists(rated))),
        returned=Count("pk", filter=Q(Exists(returned))),
        released=Count("pk", filter=is_released),
    )
    return CaptionSummary(**counts)
