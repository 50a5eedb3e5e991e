"""When background sweeps last ran, so that pages that wait for them can say if they stand still."""

from __future__ import annotations

from datetime import datetime, timedelta

from core.allocation.models import Sweep

SILENT_AFTER = timedelta(minutes=5)
"""(ours) Sweeps come every half minute; a busy worker may delay some of them."""


def record_sweep(*, now: datetime) -> None:
    Sweep.objects.update_or_create(pk=1, defaults={"at": now})


def silent_since(*, now: datetime) -> datetime | None:
    """Return when the last sweep was, if that is too long ago; None if all is well, or there never was one."""
    last = Sweep.objects.values_list("at", flat=True).first()
    return last if last is not None and now - last > SILENT_AFTER else None
