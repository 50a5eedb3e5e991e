"""What a panel has to know of a study: its address, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from statistics import median

from django.db.models import F, Sum
from django.urls import reverse

from annotation.models import CaptionItem
from office.recruitment.models import Study, WorkRole
from office.recruitment.rules.panels import PanelKind, ParameterNames, address_for
from sxs_eval.models import Judgement


def address_of(study: Study, absolute: Callable[[str], str]) -> str:
    """Return the address for the panel, with what it replaces; `absolute` adds the site to a path."""
    names = ParameterNames(study.person_parameter, study.session_parameter)
    return address_for(PanelKind(study.panel), absolute(reverse("recruitment:study-enter", args=[study.token])), names)


def minutes_of(study: Study) -> int | None:
    """Return how long a study takes by the median of the project's submitted batches in its languages."""
    languages = study.languages.values("pk")
    spent: list[int | None]
    if study.role == WorkRole.RATER:
        judged = Judgement.objects.filter(comparison__project=study.project_id, comparison__language__in=languages)
        batches = judged.exclude(judged_at=None).order_by().values("batch")
        spent = [row["spent_ms"] for row in batches.annotate(spent_ms=Sum("active_ms"))]
    else:
        written = CaptionItem.objects.filter(
            batch__round__project=study.project_id, batch__round__language__in=languages
        )
        submitted = written.exclude(batch__submitted_at=None).order_by().values("batch")
        spent = [row["spent_ms"] for row in submitted.annotate(spent_ms=Sum(F("rating_ms") + F("writing_ms")))]
    found = [spent_ms for spent_ms in spent if spent_ms]
    return max(1, ceil(median(found) * study.batches / 60_000)) if found else None
