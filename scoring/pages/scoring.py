"""Prepare one scoring: its figures with their signatures, and its earlier passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from images.models import JobState
from scoring.models import Pass
from scoring.pages.scores import text_version, value_text
from scoring.selectors.scores import PassRow, ScoreCell, ScoringDetails, shown_times, title_of


@dataclass(frozen=True)
class FigureLine:
    metric: str
    title: str
    text: str
    raw: str
    """The value itself, with all its digits."""
    why: str
    signature: str


@dataclass(frozen=True)
class PastPass:
    """A pass of the history. `changed` says in what it differs from the one before; empty for the first."""

    scoring_pass: Pass
    changed: str
    figures: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ScoringPage:
    open: Pass | None
    percent: int
    error: str
    done: Pass | None
    is_outdated: bool
    text: str
    figures: Sequence[FigureLine]
    has_images: bool
    history: Sequence[PastPass]


def scoring_page(details: ScoringDetails, *, is_outdated: bool) -> ScoringPage:
    row = details.row
    return ScoringPage(
        open=row.open,
        percent=row.percent,
        error=row.error,
        done=row.done,
        is_outdated=is_outdated,
        text=text_version(row),
        figures=[_figure(cell) for cell in details.cells],
        has_images=any(cell.value is not None for cell in details.cells),
        history=_history(details.history),
    )


def _figure(cell: ScoreCell) -> FigureLine:
    raw = "" if cell.value is None else repr(cell.value)
    return FigureLine(cell.metric, cell.title, value_text(cell.shown), raw, cell.why, cell.signature)


def _history(rows: Sequence[PassRow]) -> list[PastPass]:
    """List past passes, the newest first. An open pass does not know its captions yet."""
    history: list[PastPass] = []
    before: Pass | None = None
    for row in reversed(rows):
        one = row.scoring_pass
        figures = [
            (
                title_of(score.metric),
                value_text(None if score.value is None else score.value * shown_times(score.metric)),
            )
            for score in row.scores
        ]
        history.append(PastPass(one, _changed(before, one), figures))
        before = one if one.state == JobState.DONE else before
    return history[::-1]


def _changed(before: Pass | None, now: Pass) -> str:
    if before is None or not (now.captions_digest or now.references_digest):
        return ""
    captions = before.captions_digest != now.captions_digest
    references = before.references_digest != now.references_digest
    if captions and references:
        return _("Captions and references changed.")
    if captions:
        return _("Captions changed.")
    return _("References changed.") if references else _("Recomputed on the same captions and references.")
