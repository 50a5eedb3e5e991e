"""What is in a project, in numbers: for those who archive, copy or delete it."""

from __future__ import annotations

from datetime import datetime
from itertools import chain

from django.db.models import Q, QuerySet

from annotation.models import Caption, Release, Round
from core.allocation.models import Batch, BatchState, Pool
from core.images.models import Collection
from core.jobs.models import JobState
from core.people.models import Consent, Membership, Owned, Project
from gapgame.models import Season, Turn
from office.recruitment.selectors.costs import cost_rows, totals_of
from research.inference.models import CaptioningModel, Run
from research.scoring.models import ReferenceSet, Scoring
from research.selection.models import Selection
from sxs_eval.models import Comparison


def contents_of(project: Project) -> dict[str, int]:
    """Count what a deletion would remove. It reads the work of everybody, so it is for pages that are seldom opened."""
    work = totals_of(cost_rows(project))
    return {
        "languages": Round.objects.filter(project=project).values("language").distinct().count(),
        "captions": Caption.objects.filter(round__project=project).count(),
        "ratings": work.ratings,
        "judgements": work.judgements,
        "turns": Turn.objects.filter(player__season__project=project).count(),
        "hours": round(work.hours),
        "people": Membership.objects.filter(project=project).values("user").distinct().count(),
        "consents": Consent.objects.filter(text__project=project).count(),
        "comparisons": Comparison.objects.filter(project=project).count(),
        "seasons": Season.objects.filter(project=project).count(),
        "references": ReferenceSet.objects.filter(project=project).count(),
        "scorings": Scoring.objects.filter(project=project).count(),
        "selections": Selection.objects.filter(project=project).count(),
        "releases": Release.objects.filter(project=project, state=JobState.DONE).count(),
    }


def pools_of(project: Project) -> QuerySet[Pool]:
    return Pool.objects.filter(Q(round__project=project) | Q(comparison__project=project))


def unfinished_batches(project: Project, *, now: datetime) -> int:
    batches = Batch.objects.filter(pool__in=pools_of(project), state=BatchState.OPEN, deadline__gt=now)
    return batches.count()


def owned_by(project: Project) -> list[Owned]:
    """List the collections, models and runs of a project: they stay when it is deleted."""
    kinds = (Collection.objects, CaptioningModel.objects, Run.objects)
    return list(chain.from_iterable(kind.filter(project=project) for kind in kinds))
