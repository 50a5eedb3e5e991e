"""Withdraw consent; answers given before stay or count no longer, as the text said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from people import personal_data
from people.models import Consent, ConsentText, OnWithdrawal, Project, User
from people.services import audit_log
from people.services.members import MembershipError


class WithdrawalChoiceError(MembershipError):
    """The text leaves it to the person what becomes of their answers, and they did not say."""


@dataclass(frozen=True)
class Withdrawn:
    """How many versions of the text it was about, whether answers stay, and how many count no longer."""

    versions: int
    keeps_answers: bool
    removed: int


def withdraw_consent(
    *, project: Project, user: User, keeps_answers: bool | None = None, now: datetime
) -> Withdrawn | None:
    """Take back all that `user` agreed to in `project`; None where there was nothing to take back.

    Work in hand is given back, and no more is handed to them. What becomes of answers was stated beside the newest
    text that they agreed to; `keeps_answers` says it where that leaves it to them, and is not asked otherwise.

    Raises
    ------
    WithdrawalChoiceError
    """
    with transaction.atomic():
        # One thing at a time happens to a person: nothing is handed to them meanwhile.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        consents = Consent.objects.filter(text__project=project, user=user, withdrawn_at=None)
        text = governing_text(project, user)
        if text is None:
            return None
        keeps = _keeps(text, keeps_answers)
        versions = consents.update(withdrawn_at=now, answers_kept=keeps)
        removed = personal_data.withdraw(project=project, person=user, keeps_answers=keeps, now=now)
        audit_log.record(
            project=project,
            action="consent.withdrawn",
            about=f"version {text.version}",
            by=user,
            person=user,
            now=now,
            details={"answers_kept": keeps, "removed": removed},
        )
    return Withdrawn(versions, keeps, sum(removed.values()))


def governing_text(project: Project, user: User) -> ConsentText | None:
    """The newest text that `user` agreed to and has not taken back: what it states holds for all of their answers."""
    consents = Consent.objects.filter(user=user, withdrawn_at=None, text__project=project).values("text")
    return ConsentText.objects.filter(pk__in=consents).order_by("-version").first()


def _keeps(text: ConsentText, keeps_answers: bool | None) -> bool:
    if text.on_withdrawal != OnWithdrawal.CHOOSE:
        return text.on_withdrawal == OnWithdrawal.KEEP
    if keeps_answers is None:
        raise WithdrawalChoiceError(_("Choose what should happen to the answers you gave."))
    return keeps_answers
