"""How far the computing of scores and the translation of references are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from core.jobs.models import JobState
from research.inference.pages.runs import decoding_lines
from research.scoring.models import ReferenceSet, ReferenceTranslation
from research.scoring.selectors.scores import ScoringRow
from research.scoring.services.reference_translations import is_outdated

MAX_NAMED = 5


def progress_of(rows: Sequence[ScoringRow]) -> dict[str, Any]:
    """Count the metrics of open passes, and name the first few scorings with one."""
    waiting = [row for row in rows if row.open is not None]
    passes = [row.open for row in waiting if row.open is not None]
    return {
        "open": waiting[:MAX_NAMED],
        "more": max(0, len(waiting) - MAX_NAMED),
        "done": sum(one.done for one in passes),
        "total": sum(one.total for one in passes),
        "failed": [row for row in rows if row.error],
    }


DESCRIBED = ("architecture", "parameters", "device", "versions")
"""What researchers ask first of a translator that was loaded."""


def translation_of(reference_set: ReferenceSet) -> dict[str, Any] | None:
    """Describe the translation that made a set, and what can be done with it; None if none did."""
    rows = ReferenceTranslation.objects.select_related("translator", "english", "mixed_with")
    row = rows.filter(made=reference_set).first()
    if row is None:
        return None
    described = [(_(name.capitalize()), str(row.described[name])) for name in DESCRIBED if name in row.described]
    has_sources = row.english is not None and (not row.is_mixed or row.mixed_with is not None)
    has_failed, has_changed = row.state == JobState.FAILED, not row.is_open and is_outdated(row)
    return {
        "row": row,
        "percent": 100 * row.done // row.total if row.total else 0,
        "lines": [*decoding_lines(row.decoding), *described],
        "is_outdated": has_changed,
        "has_sources": has_sources,
        "has_failed": has_failed,
        "can_repeat": not row.is_open and has_sources and (has_failed or has_changed or row.failed > 0),
    }
