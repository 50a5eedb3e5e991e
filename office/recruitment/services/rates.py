"""Setting what an hour of work costs. Callers check permissions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction

from core.people.models import Project, User
from core.people.services import audit_log
from office.recruitment.models import HourlyRate


class RateInCurrency(NamedTuple):
    rate: Decimal
    currency: str


def set_rates(*, project: Project, rates: Mapping[str, RateInCurrency], by: User, now: datetime) -> None:
    """Replace the rates of a project: by language tag, and under the empty one that of the other languages."""
    with transaction.atomic():
        audit_log.lock(project, by)
        HourlyRate.objects.filter(project=project).delete()
        HourlyRate.objects.bulk_create(
            HourlyRate(project=project, language_id=tag or None, rate=rate.rate, currency=rate.currency)
            for tag, rate in rates.items()
        )
        details = {tag or "other languages": f"{rate.rate} {rate.currency}" for tag, rate in rates.items()}
        audit_log.record(project=project, action="rates.changed", about="", by=by, now=now, details=details)
