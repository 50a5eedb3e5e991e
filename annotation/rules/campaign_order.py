"""Where a language stands: its rounds in order, the one that it is at, and the one that an action is about."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.rules.campaign import (
    CLOSED,
    OPEN,
    PILOT,
    PLANNED,
    SKIPPED,
    VERIFICATION,
    CampaignStep,
    RoundAction,
    verified_by,
    why_not,
)

FROM_THE_END = frozenset({RoundAction.REOPEN})
"""Actions on the last round for which they are allowed: what was done last is undone first."""


def in_order(steps: Sequence[CampaignStep]) -> list[CampaignStep]:
    """Pilots, each followed by its rating, then the main round and its verification."""

    def place(step: CampaignStep) -> tuple[bool, int, bool, int]:
        of = verified_by(step, steps) or step
        return (of.kind != PILOT, of.number, step is not of, step.number)

    return sorted(steps, key=place)


def current_round(steps: Sequence[CampaignStep]) -> CampaignStep:
    """Return the round that a language is at: the open one, else the one to decide, the next, or the last."""
    ordered = in_order(steps)
    closed = [step for step in ordered if step.state == CLOSED and not _is_decided_with_its_pilot(step, steps)]
    planned = [step for step in ordered if step.state == PLANNED]
    for candidates in ([step for step in ordered if step.state == OPEN][-1:], closed[:1], planned[:1]):
        if candidates:
            return candidates[0]
    return next((step for step in reversed(ordered) if step.state != SKIPPED), ordered[-1])


def round_to_change(action: RoundAction, steps: Sequence[CampaignStep]) -> CampaignStep | None:
    """Return the round of a language that `action` is allowed with now; None if there is none."""
    ordered = in_order(steps)
    allowed = [step for step in ordered if why_not(action, step, steps) is None]
    if not allowed:
        return None
    return allowed[-1] if action in FROM_THE_END else allowed[0]


def _is_decided_with_its_pilot(step: CampaignStep, steps: Sequence[CampaignStep]) -> bool:
    verified = verified_by(step, steps)
    return step.kind == VERIFICATION and verified is not None and verified.kind == PILOT and verified.state == CLOSED
