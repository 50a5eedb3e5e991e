"""What is stored about somebody's practice, for themselves."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F
from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from office.practice.models import PracticeAnswer


def data_export(person: User) -> Iterator[ExportPart]:
    rows = PracticeAnswer.objects.filter(attempt__person=person).order_by("pk")
    yield ExportPart(
        "practice",
        _("Your answers to practice examples."),
        rows.values(
            "answer",
            "is_right",
            "answered_at",
            project=F("attempt__practice__project__name"),
            kind=F("attempt__practice__kind"),
            version=F("attempt__practice__version"),
            example=F("item__position"),
            message_to_managers=F("attempt__message"),
        ),
    )
