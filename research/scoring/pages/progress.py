"""The progress of all scorings of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from research.scoring.selectors.scores import ScoringRow

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
