"""What the work of people from a panel costs, and how a sum is divided."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal

from core.people.rules.pay import CENT
from office.recruitment.rules.pay import pay_for


def cost_of_participant(*, active_ms: int, rewards: Sequence[Decimal], rate: Decimal) -> Decimal:
    """Return the rewards of the studies that somebody has done, and the bonus if they are less than the rate."""
    if not rewards:
        return Decimal(0)
    reward = sum(rewards, start=Decimal(0))
    return reward + pay_for(active_ms=active_ms, reward=reward, rate=rate).bonus


def divided_cents(total: Decimal, weights: Sequence[int]) -> list[Decimal]:
    """Divide `total` by `weights`, in whole cents; the last part has the rest."""
    if not weights:
        return []
    of = sum(weights)
    parts = [(total * weight / of).quantize(CENT, rounding=ROUND_DOWN) if of else Decimal(0) for weight in weights[:-1]]
    return [*parts, total - sum(parts, start=Decimal(0))]
