"""What hours of work are worth at a rate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

MS_PER_HOUR = 3_600_000
CENT = Decimal("0.01")


@dataclass(frozen=True)
class PromisedPay:
    """What somebody is paid in a language of a project: a `rate` per hour, or a panel's `reward` for a whole study."""

    currency: str
    rate: Decimal | None = None
    reward: Decimal | None = None


def cost_of(*, active_ms: int, rate: Decimal) -> Decimal:
    return (rate * active_ms / MS_PER_HOUR).quantize(CENT, rounding=ROUND_HALF_UP)
