"""How far the computing of scores and the translation of references are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.jobs.models import JobState
from research.inference.pages.runs import decoding_lines
from research.scoring.models import ReferenceSet, ReferenceTranslation
from research.scoring.selectors.scores import ScoringRow
from research.scoring.services.reference_translations import is_outdated

MAX_NAMED = 5


@dataclass(frozen=True)
class ScoringProgress:
    """`open` lists the first few scorings with an open pass."""

    open: Sequence[ScoringRow]
    more: int
    done: int
    total: int
    """Metrics of open passes."""
    failed: Sequence[ScoringRow]

    @property
    def is_open(self) -> bool:
        return bool(self.open)


def progress_of(rows: Sequence[ScoringRow]) -> ScoringProgress:
    waiting = [row for row in rows if row.open is not None]
    passes = [row.open for row in waiting if row.open is not None]
    return ScoringProgress(
        open=waiting[:MAX_NAMED],
        more=max(0, len(waiting) - MAX_NAMED),
        done=sum(one.done for one in passes),
        total=sum(one.total for one in passes),
        failed=[row for row in rows if row.error],
    )


DESCRIBED = ("architecture", "parameters", "device", "versions")
"""What researchers ask first of a translator that was loaded."""


@dataclass(frozen=True)
class TranslationPage:
    """A translation of references, and what can be done with it."""

    row: ReferenceTranslation
    percent: int
    lines: Sequence[tuple[str, str]]
    is_outdated: bool
    has_sources: bool

    @property
    def has_failed(self) -> bool:
        return self.row.state == JobState.FAILED

    @property
    def can_repeat(self) -> bool:
        if self.row.is_open or not self.has_sources:
            return False
        return self.has_failed or self.is_outdated or self.row.failed > 0


def translation_of(reference_set: ReferenceSet) -> TranslationPage | None:
    """Describe the translation that made a set; None if none did."""
    rows = ReferenceTranslation.objects.select_related("translator", "english", "mixed_with")
    row = rows.filter(made=reference_set).first()
    if row is None:
        return None
    described = [(_(name.capitalize()), str(row.described[name])) for name in DESCRIBED if name in row.described]
    return TranslationPage(
        row=row,
        percent=100 * row.done // row.total if row.total else 0,
        lines=[*decoding_lines(row.decoding), *described],
        is_outdated=not row.is_open and is_outdated(row),
        has_sources=row.english is not None and (not row.is_mixed or row.mixed_with is not None),
    )
