"""Read imports of files for pages and the API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

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


Column = tuple[str, str]
"""A model, or "" and the kind of what is by none; the model's kind is empty."""


def captions_by_language(files: Sequence[Mapping[str, Any]]) -> tuple[list[Column], list[tuple[str, list[int]]]]:
    """Cross what previewed files hold: the columns, and for each language a row of counts."""
    found: dict[str, dict[Column, int]] = defaultdict(lambda: defaultdict(int))
    for file in files:
        by_column = {(name, ""): tags for name, tags in file.get("by_model", {}).items()}
        for column, by_language in (by_column or {("", file["kind"]): file["languages"]}).items():
            for tag, count in by_language.items() if "comparisons" not in file else ():
                found[tag][column] += count
    columns = sorted({column for row in found.values() for column in row})
    return columns, [(tag, [found[tag].get(column, 0) for column in columns]) for tag in sorted(found)]
