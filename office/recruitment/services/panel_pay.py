"""Pay people of Prolific: approve who is done, and pay what is missing to the rate, once each.

Prolific pays a bulk of bonuses as often as it is asked to. So it is asked once; if the answer is lost, nobody is paid
again before the submissions show the bonus, or a manager has looked and says that it was not paid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, TypeVar

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from core.people.models import User
from office.recruitment.models import BonusPayment, PaidBonus, PanelStudy, Participant, ParticipantState, PaymentState
from office.recruitment.rules.prolific import APPROVED, AWAITING_REVIEW, csv_of
from office.recruitment.selectors.work import pay_rows
from office.recruitment.services.panel_budget import check_budget, locked, record
from office.recruitment.services.prolific_api import (
    BonusesSetUp,
    PanelError,
    ProlificApi,
    RefusedByPanelError,
    SubmissionThere,
    UnansweredError,
)

APPROVED_AT_ONCE, PAID_AT_ONCE = 100, 200
SHOWS_WITHIN = timedelta(hours=1)
"""(ours) Prolific pays within minutes; earlier, nobody may say that a payment was not made."""

Submissions = Mapping[str, SubmissionThere]
Row = TypeVar("Row")


class OwedBonus(NamedTuple):
    participant: Participant
    amount: Decimal


def approve_and_pay(api: ProlificApi, row: PanelStudy, by: User, now: datetime) -> str:
    """Approve the submissions of everybody who is done, and pay their bonuses.

    Raises PanelError.
    """
    there = api.submissions(row.panel_id)
    approved = _approve(api, row, there)
    _settle(row, there)
    if row.payments.filter(state=PaymentState.SENT).exists():
        raise UnansweredError(
            _(
                "Prolific has not confirmed the last payment of bonuses, so nothing more is paid. Try again in some "
                "minutes. If Prolific’s own pages do not show it after an hour, say so below."
            )
        )
    owed = owed_bonuses(row, there)
    groups = [(group, _set_up(api, row, group)) for group in _groups(owed, PAID_AT_ONCE)]
    row.refresh_from_db(fields=["rewards", "bonuses", "budget"])
    cost = sum((bonuses.cost for _group, bonuses in groups), start=Decimal(0))
    check_budget(row, cost)
    for group, bonuses in groups:
        _pay(api, row, group, bonuses, now)
    record(row.study, "panel-study.paid", by, now, approved=approved, bonuses=len(owed), cost=str(cost))
    return _("Approved: %(approved)s. Bonuses paid: %(bonuses)s.") % {"approved": approved, "bonuses": len(owed)}


def owed_bonuses(row: PanelStudy, there: Submissions) -> list[OwedBonus]:
    """List what is still missing to the rate of those whose submission counts, less what Prolific shows as paid."""
    owed = []
    for pay in pay_rows(row.study):
        one = _submission_of(pay.participant, there)
        if pay.is_owed and one and one.status in (APPROVED, AWAITING_REVIEW):
            amount = pay.pay.bonus - sum(one.bonuses, start=Decimal(0))
            if amount > 0:
                owed.append(OwedBonus(pay.participant, amount))
    return owed


def release(api: ProlificApi, row: PanelStudy, by: User, now: datetime) -> str:
    """Strike out a payment that was never confirmed and that a manager did not find at Prolific.

    Raises PanelError.
    """
    there = api.submissions(row.panel_id)
    _settle(row, there)
    with transaction.atomic():
        fresh = locked(row.study)
        payment = fresh.payments.select_for_update().filter(state=PaymentState.SENT).first()
        if payment is None:
            return _("Every payment is settled.")
        if payment.sent_at > now - SHOWS_WITHIN:
            raise PanelError(_("This payment was sent less than an hour ago. Prolific may still be making it."))
        bonuses = payment.bonuses.select_related("participant")
        missing = [one.pk for one in bonuses if not _shows(one, there)]
        is_partly_paid = len(missing) < len(bonuses)
        PaidBonus.objects.filter(pk__in=missing).delete()
        payment.state = PaymentState.PAID if is_partly_paid else PaymentState.REFUSED
        payment.save(update_fields=["state"])
        if not is_partly_paid:
            # Of one that was made in part nobody knows the fees: all of it stays spent.
            PanelStudy.objects.filter(pk=row.pk).update(bonuses=F("bonuses") - payment.amount)
        record(row.study, "panel-study.payment-released", by, now, amount=str(payment.amount))
    return _("The payment was struck out. You can pay these bonuses again.")


def _approve(api: ProlificApi, row: PanelStudy, there: Submissions) -> int:
    done = row.study.participants.filter(state=ParticipantState.DONE)
    found = (_submission_of(participant, there) for participant in done)
    waiting = [one.id for one in found if one and one.status == AWAITING_REVIEW]
    for group in _groups(waiting, APPROVED_AT_ONCE):
        api.approve(group)
    return len(waiting)


def _groups(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _submission_of(participant: Participant, there: Submissions) -> SubmissionThere | None:
    one = there.get(participant.session_id)
    return one if one and one.person == participant.panel_id else None


def _shows(bonus: PaidBonus, there: Submissions) -> bool:
    one = there.get(bonus.participant.session_id)
    return one is not None and bonus.amount in one.bonuses


def _settle(row: PanelStudy, there: Submissions) -> None:
    """Confirm payments whose answer was lost, once all of their submissions show them."""
    for payment in row.payments.filter(state=PaymentState.SENT):
        if all(_shows(one, there) for one in payment.bonuses.select_related("participant")):
            _mark(payment, PaymentState.PAID)


def _set_up(api: ProlificApi, row: PanelStudy, group: Sequence[OwedBonus]) -> BonusesSetUp:
    made = api.set_up_bonuses(row.panel_id, csv_of((one.participant.session_id, one.amount) for one in group))
    if made.cost < sum(one.amount for one in group):
        raise PanelError(_("Prolific’s price is less than the bonuses. Do not go on before you know why."))
    return made


def _pay(api: ProlificApi, row: PanelStudy, group: Sequence[OwedBonus], bonuses: BonusesSetUp, now: datetime) -> None:
    payment = _reserve(row, group, bonuses, now)
    try:
        api.pay_bonuses(bonuses.id)
    except RefusedByPanelError:
        with transaction.atomic():
            payment.bonuses.all().delete()
            _mark(payment, PaymentState.REFUSED)
            PanelStudy.objects.filter(pk=row.pk).update(bonuses=F("bonuses") - payment.amount)
        raise
    _mark(payment, PaymentState.PAID)


def _reserve(row: PanelStudy, group: Sequence[OwedBonus], bonuses: BonusesSetUp, now: datetime) -> BonusPayment:
    """Write the payment down before Prolific is asked for it."""
    with transaction.atomic():
        fresh = locked(row.study)
        check_budget(fresh, bonuses.cost)
        fresh.bonuses += bonuses.cost
        fresh.save(update_fields=["bonuses"])
        payment = BonusPayment.objects.create(at_panel=fresh, panel_id=bonuses.id, amount=bonuses.cost, sent_at=now)
        PaidBonus.objects.bulk_create(
            PaidBonus(participant=one.participant, payment=payment, amount=one.amount) for one in group
        )
    return payment


def _mark(payment: BonusPayment, state: PaymentState) -> None:
    BonusPayment.objects.filter(pk=payment.pk, state=PaymentState.SENT).update(state=state)
