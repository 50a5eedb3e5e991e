"""The control room of a project: every round with what it waits for and the evidence for deciding about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby

from annotation.models import Round, RoundKind, RoundState
from annotation.rules import campaign as rules
from annotation.rules.campaign import CampaignStep, RoundAction
from annotation.rules.waiting import RoundFacts, RoundWaiting, waiting
from annotation.selectors.campaign import steps_of
from annotation.selectors.overview import ProjectProgress, RoundProgress
from annotation.selectors.quality import QualityRow


@dataclass(frozen=True)
class RoomRow:
    """A round of a language, one of its `rounds`; `now` is when its progress was computed."""

    progress: RoundProgress
    step: CampaignStep
    rounds: Sequence[RoundProgress]
    steps: Sequence[CampaignStep]
    is_current: bool
    now: datetime

    @property
    def round(self) -> Round:
        return self.progress.round

    @cached_property
    def batches(self) -> int:
        """Unfinished ones; of a pilot, also those of its rating, as both are decided together."""
        of_rating = self.rounds if self.step.kind == rules.PILOT else ()
        return self.progress.batches + sum(row.batches for row in of_rating if row.round.verifies_id == self.round.pk)

    @cached_property
    def waiting(self) -> RoundWaiting:
        row = self.progress
        since = row.last_at or row.round.opened_at
        facts = RoundFacts(
            wanted=row.wanted,
            done=row.done,
            assigned=row.assigned,
            free=row.open,
            to_correct=row.to_correct,
            batches=self.batches,
            able=row.able,
            invited=row.invited,
            idle_days=(self.now - since).days if since else 0,
            is_paused=not row.round.pool.is_open,
            awaits_tasks=row.round.awaits_tasks,
        )
        return waiting(self.step, self.steps, facts)

    @cached_property
    def quality(self) -> QualityRow | None:
        """What is known: of a main round without a verification of its own, the rating of the last pilot."""
        row = self.progress
        if row.round.kind == RoundKind.VERIFICATION:
            return QualityRow(row.round, row.quality)
        ratings = [one for one in self.rounds if one.round.verifies_id and one.round.state != RoundState.SKIPPED]
        own = [one for one in ratings if one.round.verifies_id == row.round.pk]
        if row.round.kind == RoundKind.MAIN and not any(one.quality.get("verified") for one in own):
            own = [one for one in ratings if one.quality.get("verified")]
        return QualityRow(own[-1].round, own[-1].quality) if own else None


def room_rows(progress: ProjectProgress, *, now: datetime) -> list[RoomRow]:
    """List all rounds, language by language, in the order in which they are worked on."""
    by_language = groupby(progress.rounds, key=lambda row: row.round.language_id)
    return [row for _, rounds in by_language for row in _of_language(list(rounds), now)]


def target_of(rows: Iterable[RoomRow], action: RoundAction) -> RoomRow:
    """Choose the round that `action` is about among all rounds of a language: its current one if none allows it."""
    of_language = list(rows)
    step = rules.round_to_change(action, of_language[0].steps)
    return next(row for row in of_language if (row.step == step if step else row.is_current))


def _of_language(rounds: Sequence[RoundProgress], now: datetime) -> list[RoomRow]:
    steps = steps_of(row.round for row in rounds)
    current = rules.current_round(steps)
    return [
        RoomRow(row, step, rounds, steps, is_current=step == current, now=now)
        for row, step in zip(rounds, steps, strict=True)
    ]
