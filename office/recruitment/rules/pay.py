"""What a person's time was worth, from the reward that the panel pays and the rate that was promised."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

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
