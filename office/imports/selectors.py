"""Read imports of files for pages and the API."""

from __future__ import annotations

from django.db.models import QuerySet, Sum

from core.images.models import ImportJob


def parts_of(job: ImportJob) -> QuerySet[ImportJob]:
    """List what was made of each file: how much was added, was there already and was left out."""
    sums = {f"sum_{name}": Sum(f"rows__{name}", default=0) for name in ("added", "already", "rejected")}
    return job.parts.annotate(**sums).order_by("pk")
