"""When background work that nobody asks for was last at it: what waits for it can say so where it stands still."""

from __future__ import annotations

from datetime import datetime, timedelta

from allocation.models import Sweep

SILENT = timedelta(minutes=5)
"""(ours) Sweeps come every half minute; a worker that is busy may let some of them wait."""


def note(*, now: datetime) -> None:
    Sweep.objects.update_or_create(pk=1, defaults={"at": now})


def silent_since(*, now: datetime) -> datetime | None:
    """When the last sweep was, where that is too long ago; None where all is well, or there never was one."""
    last = Sweep.objects.values_list("at", flat=True).first()
    return last if last is not None and now - last > SILENT else None
