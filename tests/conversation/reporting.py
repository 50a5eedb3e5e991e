"""A report as people send it, and the images that are left in a batch."""

from __future__ import annotations

from typing import Any

from core.conversation import services
from core.conversation.rules import ReportReason
from tests.factories import NOW


def report(batch: Any, position: int = 1, kind: str = "captions", **about: Any) -> bool | None:
    said: dict[str, Any] = {"reason": ReportReason.BROKEN, "comment": "", "now": NOW} | about
    return services.report_image(kind=kind, batch_id=batch.pk, position=position, person=batch.lease.person, **said)


def images_in(batch: Any) -> set[int]:
    return set(batch.items.values_list("image", flat=True))
