"""What is stored about somebody who came from a panel, for themselves."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F
from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from office.recruitment.models import Participant


def data_export(person: User) -> Iterator[ExportPart]:
    rows = Participant.objects.filter(user=person).order_by("pk")
    yield ExportPart(
        "studies",
        _("Studies that a panel sent you to, and what the panel calls you."),
        rows.values(
            "panel_id",
            "session_id",
            "state",
            "arrived_at",
            "ended_at",
            study_name=F("study__name"),
            panel=F("study__panel"),
        ),
    )
