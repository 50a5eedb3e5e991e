"""Export the scorings and references that a person set up."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F
from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from research.scoring.models import ReferenceSet, Scoring


def data_export(person: User) -> Iterator[ExportPart]:
    project = {"project_slug": F("project__slug")}
    sets = ReferenceSet.objects.filter(created_by=person).order_by("created_at", "pk")
    yield ExportPart(
        "reference-sets", _("Sets of references that you made."), sets.values("name", "created_at", **project)
    )
    scorings = Scoring.objects.filter(created_by=person).order_by("created_at", "pk")
    yield ExportPart(
        "scorings", _("Scores that you requested, by number."), scorings.values("id", "created_at", **project)
    )
