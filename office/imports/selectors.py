"""Read imports of files for pages and the API."""

from __future__ import annotations

from django.db.models import Sum

from core.images.models import ImportJob, ImportStage
from core.images.selectors import COUNTED
from core.jobs.models import JobState

OUTCOMES = ("added", "already", "rejected")


def is_undone(job: ImportJob) -> bool:
    return job.stage == ImportStage.UNDO and job.state == JobState.DONE


def parts_of(job: ImportJob) -> list[ImportJob]:
    """List what was made of each file: how much was added, was there already and was left out; none once undone."""
    if is_undone(job):
        return []
    sums = {f"sum_{name}": Sum(f"rows__{name}", default=0) for name in OUTCOMES}
    parts = list(job.parts.annotate(**sums).order_by("pk"))
    for part in parts:
        # A part that has rows for some of its lines only counted all of them.
        for name, count in part.options.get(COUNTED, {}).items():
            setattr(part, f"sum_{name}", count)
    return parts
