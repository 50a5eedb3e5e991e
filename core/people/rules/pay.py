"""What hours of work are worth at a rate."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

MS_PER_HOUR = 3_600_000
CENT = Decimal("0.01")


def cost_of(*, active_ms: int, rate: Decimal) -> Decimal:
    return (rate * active_ms / MS_PER_HOUR).quantize(CENT, rounding=ROUND_HALF_UP)
