"""What side-by-side evaluation stores about one person, for their data export, without naming the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from core.allocation.selectors import LEASE_COLUMNS
from core.people.models import User
from core.people.personal_data import ExportPart
from crosslens_metrics.scales import SCALES
from sxs_eval.models import Judgement, JudgingBatch, RaterStatus


def data_export(person: User) -> Iterator[ExportPart]:
    yield ExportPart("judging-batches", _("Batches of pairs that you took."), _batches(person))
    yield ExportPart(
        "judgements",
        _("Which of two captions you found better, with your comments. Captions and models are not included."),
        _judgements(person),
    )
    yield ExportPart("judging-statuses", _("Whether your judgements count in each comparison."), _statuses(person))


def _batches(person: User) -> QuerySet[Any, Any]:
    batches = JudgingBatch.objects.filter(lease__person=person).order_by("lease__taken_at", "pk")
    return batches.values(
        "comparison",
        "instructions_language",
        project_slug=F("comparison__project__slug"),
        language_tag=F("comparison__language"),
        instructions_version=F("instructions__version"),
        **LEASE_COLUMNS,
    )


def _judgements(person: User) -> Iterator[dict[str, Any]]:
    judgements = Judgement.objects.filter(person=person, choice__isnull=False).order_by("judged_at", "pk")
    columns = ("batch", "position", "comparison", "scale", "choice", "comment", "judged_at", "active_ms", "is_late")
    for row in judgements.values(*columns).iterator():
        yield row | {"said": _(SCALES[row.pop("scale")][row["choice"]].label)}


def _statuses(person: User) -> QuerySet[Any, Any]:
    statuses = RaterStatus.objects.filter(person=person).order_by("comparison")
    return statuses.values("comparison", "state", "paused_at", "decided_at")
