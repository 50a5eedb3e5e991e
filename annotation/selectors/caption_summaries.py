"""What happened to the captions of one author, in numbers and each: nobody's rating of a caption is among them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from annotation.models import Caption, CaptionState, CorrectionRequest, Release, RoundKind, RoundState, Verdict
from annotation.selectors.work import is_on_screen_2
from core.allocation.models import AssignmentState
from core.jobs.models import JobState
from core.languages.rules.registry import ENGLISH
from core.people.models import User


@dataclass(frozen=True)
class CaptionSummary:
    """How many captions were submitted, and of these were rated by others, returned for correction, released."""

    submitted: int
    rated: int
    returned: int
    released: int


def summary_of(author: User) -> CaptionSummary:
    counts = _with_fate(Caption.objects.filter(author=author)).aggregate(
        submitted=Count("pk"),
        rated=Count("pk", filter=Q(is_rated=True)),
        returned=Count("pk", filter=Q(is_returned=True)),
        released=Count("pk", filter=Q(is_released=True)),
    )
    return CaptionSummary(**counts)


def own_captions(author: User) -> QuerySet[Caption]:
    """Return what `author` submitted, with whether each was rated, returned and released.

    An English caption of an image that they write about on screen 2 is not among them.
    """
    mine = Caption.objects.filter(author=author, item__isnull=False)
    return _with_fate(mine.exclude(is_on_screen_2(author, "image"), round__language=ENGLISH))


def _with_fate(captions: QuerySet[Caption]) -> QuerySet[Caption]:
    releases = Release.objects.filter(
        project=OuterRef("round__project"),
        state=JobState.DONE,
        until__gte=OuterRef("submitted_at"),
        created_at__gte=OuterRef("round__decided_at"),
    )
    is_released = Q(
        Exists(releases), state=CaptionState.COUNTED, round__kind=RoundKind.MAIN, round__state=RoundState.ACCEPTED
    )
    return captions.annotate(
        is_rated=Exists(Verdict.objects.filter(caption=OuterRef("pk"), assignment__state=AssignmentState.DONE)),
        is_returned=Exists(CorrectionRequest.objects.filter(caption=OuterRef("pk"))),
        is_released=ExpressionWrapper(is_released, output_field=BooleanField()),
    )
