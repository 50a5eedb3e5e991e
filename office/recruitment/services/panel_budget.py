"""The budget of a study at Prolific, which no step may pass, and the lock under which steps take turns.

Money is written down before it is spent, and struck out only if Prolific refused. A request without an answer keeps it:
the next step first asks Prolific what was done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import User
from core.people.services import audit_log
from office.recruitment.models import PanelStudy, Study
from office.recruitment.services.prolific_api import PanelError

STEP_TAKES = timedelta(minutes=3)
"""Longer than a step waits for Prolific; then the next one may begin, as its process was killed."""


class BudgetError(PanelError):
    """It would cost more than what is left of the budget."""


@contextmanager
def one_at_a_time(study: Study, now: datetime) -> Iterator[PanelStudy]:
    with transaction.atomic():
        row = locked(study)
        if row.busy_until is not None and row.busy_until > now:
            raise PanelError(_("Another step of this study is on its way. Try again in a few minutes."))
        row.busy_until = now + STEP_TAKES
        row.save(update_fields=["busy_until"])
    try:
        yield row
    finally:
        PanelStudy.objects.filter(pk=row.pk, busy_until=row.busy_until).update(busy_until=None)


def locked(study: Study) -> PanelStudy:
    """Lock the row of the study's money.

    Raises PanelError.
    """
    rows = PanelStudy.objects.select_for_update(of=("self",), no_key=True).select_related("study__project")
    row = rows.filter(study=study).first()
    if row is None:
        raise PanelError(_("Enter a description, the minutes and a budget first."))
    return row


def check_budget(row: PanelStudy, cost: Decimal) -> None:
    """Refuse what costs more than what is left of a budget whose row is locked.

    Raises BudgetError.
    """
    if cost > row.left:
        text = _("This costs %(cost)s with fees, but only %(left)s of the budget are left.")
        raise BudgetError(text % {"cost": in_currency(row.study, cost), "left": in_currency(row.study, row.left)})


def in_currency(study: Study, amount: Decimal) -> str:
    return f"{amount} {study.currency}"


def record(study: Study, action: str, by: User, now: datetime, **details: Any) -> None:
    audit_log.record(project=study.project, action=action, about=study.name, by=by, now=now, details=details)
