"""What a person's time was worth to the promised rate, what it costs, and how a sum is divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from core.people.rules.pay import CENT, MS_PER_HOUR


@dataclass(frozen=True)
class HourlyPay:
    """`hourly` is what the reward amounts to in an hour, `bonus` what is missing to the promised rate."""

    hourly: Decimal | None
    bonus: Decimal

    @property
    def is_underpaid(self) -> bool:
        return self.bonus > 0


def pay_for(*, active_ms: int, reward: Decimal, rate: Decimal) -> HourlyPay:
    """Compute the pay. Fractions of a cent are rounded up, in the person's favour; without time there is no rate."""
    if active_ms <= 0:
        return HourlyPay(None, Decimal(0))
    hours = Decimal(active_ms) / MS_PER_HOUR
    missing = (rate * hours - reward).quantize(CENT, rounding=ROUND_UP)
    return HourlyPay((reward / hours).quantize(CENT), max(missing, Decimal(0)))


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
