"""What is stored about somebody's e-mails, for themselves."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from office.dashboard.models import DismissedNeed, EmailChoices, Notice


def data_export(person: User) -> Iterator[ExportPart]:
    columns = ("work", "feedback", "rewrite", "deadline", "digest", "zone")
    yield ExportPart(
        "email-choices", _("Which e-mails you want."), EmailChoices.objects.filter(person=person).values(*columns)
    )
    notices = Notice.objects.filter(person=person).order_by("pk")
    yield ExportPart(
        "emails", _("E-mails that were sent to you."), notices.values("kind", "about", "state", "queued_at", "sent_at")
    )
    dismissed = DismissedNeed.objects.filter(person=person).order_by("pk")
    yield ExportPart("dismissed", _("Failures that you dismissed."), dismissed.values("about", "at"))
