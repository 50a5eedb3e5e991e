"""The control room of a project: every round with what it waits for and the evidence for deciding about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from annotation.models import Round, RoundKind, RoundState
from annotation.rules import campaign as rules
from annotation.rules import campaign_order
from annotation.rules.campaign import Action, Step
from annotation.rules.waiting import Facts, Waiting, waiting
from annotation.selectors.campaign import steps_of
from annotation.selectors.overview import ProjectProgress, RoundProgress
from annotation.selectors.quality import QualityRow


@dataclass(frozen=True)
class RoomRow:
    """A round of a language. `quality` is the newest that is known about captions of the language at this round."""

    progress: RoundProgress
    step: Step
    steps: Sequence[Step]
    waiting: Waiting
    quality: QualityRow | None
    batches: int
    is_current: bool

    @property
    def round(self) -> Round:
        return self.progress.round


def room_rows(progress: ProjectProgress, *, now: datetime) -> list[RoomRow]:
    """List all rounds, language by language, in the order in which they are worked on."""
    by_language = groupby(progress.rounds, key=lambda row: row.round.language_id)
    return [row for _, rounds in by_language for row in _of_language(list(rounds), now)]


def target_of(rows: Iterable[RoomRow], action: Action) -> RoomRow:
    """Choose the round that `action` is about among all rounds of a language: its current one if none allows it."""
    of_language = list(rows)
    step = campaign_order.target(action, of_language[0].steps)
    return next(row for row in of_language if (row.step == step if step else row.is_current))


def _of_language(rounds: Sequence[RoundProgress], now: datetime) -> list[RoomRow]:
    steps = steps_of(row.round for row in rounds)
    current = campaign_order.current(steps)
    return [
        _row(row, step, rounds, steps, now=now, is_current=step == current)
        for row, step in zip(rounds, steps, strict=True)
    ]


def _row(
    row: RoundProgress,
    step: Step,
    rounds: Sequence[RoundProgress],
    steps: Sequence[Step],
    *,
    now: datetime,
    is_current: bool,
) -> RoomRow:
    batches = row.batches
    if step.kind == rules.PILOT:
        # Both are decided together.
        batches += sum(other.batches for other in rounds if other.round.verifies_id == row.round.pk)
    since = row.last_at or row.round.opened_at
    facts = Facts(
        wanted=row.wanted,
        done=row.done,
        assigned=row.assigned,
        free=row.open,
        to_correct=row.to_correct,
        batches=batches,
        able=row.able,
        invited=row.invited,
        idle_days=(now - since).days if since else 0,
        is_paused=not row.round.pool.is_open,
        awaits_tasks=row.round.awaits_tasks,
    )
    return RoomRow(
        progress=row,
        step=step,
        steps=steps,
        waiting=waiting(step, steps, facts),
        quality=_quality(row, rounds),
        batches=batches,
        is_current=is_current,
    )


def _quality(row: RoundProgress, rounds: Sequence[RoundProgress]) -> QualityRow | None:
    """Return the rating of a round's captions; of a main round's, that of the last pilot until there is its own."""
    if row.round.kind == RoundKind.VERIFICATION:
        return QualityRow(row.round, row.quality)
    ratings = [one for one in rounds if one.round.verifies_id and one.round.state != RoundState.SKIPPED]
    own = [one for one in ratings if one.round.verifies_id == row.round.pk]
    if row.round.kind == RoundKind.MAIN and not any(one.quality.get("verified") for one in own):
        own = [one for one in ratings if one.quality.get("verified")]
    return QualityRow(own[-1].round, own[-1].quality) if own else None
