"""Studies at Prolific: drafts, prices, publishing and places, within a budget. Callers check permissions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.services import audit_log
from office.recruitment.models import PanelStudy, ProlificAccount, Study
from office.recruitment.rules import prolific as rules
from office.recruitment.rules.panels import PanelKind
from office.recruitment.rules.prolific import PanelStep
from office.recruitment.selectors.work import pay_rows, total_owed
from office.recruitment.services import panel_pay
from office.recruitment.services.panel_budget import (
    BudgetError,
    check_budget,
    in_currency,
    locked,
    one_at_a_time,
    record,
)
from office.recruitment.services.prolific_api import PanelError, ProlificApi, RefusedByPanelError, StudyThere

MIN_NAMED_CHARACTERS = 12
ALL_DEVICES = ("desktop", "tablet", "mobile")


@dataclass(frozen=True)
class PanelCheck:
    """What would be sent, and what it would cost with fees; `owed` are bonuses so far, without fees."""

    body: dict[str, Any]
    cost: Decimal
    left: Decimal
    owed: Decimal

    @property
    def fits(self) -> bool:
        return self.cost <= self.left


def set_token(*, project: Project, token: str, by: User, now: datetime) -> None:
    """Store the token of the project's workspace, if Prolific accepts it.

    Raises PanelError.
    """
    ProlificApi(token).currency()
    with transaction.atomic():
        ProlificAccount.objects.update_or_create(project=project, defaults={"token": token})
        audit_log.record(project=project, action="prolific.token-set", about="", by=by, now=now)


def api_of(project: Project) -> ProlificApi:
    account = ProlificAccount.objects.filter(project=project).first()
    if account is None:
        raise PanelError(_("Enter the token of your workspace at Prolific first."))
    return ProlificApi(account.token)


def plan_study(*, study: Study, by: User, now: datetime, budget: Decimal, **settings: Any) -> PanelStudy:
    """Set the budget, and before there is a draft the description and minutes.

    Raises BudgetError.
    """
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        row = PanelStudy.objects.select_for_update(no_key=True).filter(study=study).first() or PanelStudy(study=study)
        if budget < row.rewards + row.bonuses:
            spent = in_currency(study, row.rewards + row.bonuses)
            raise BudgetError(_("%(spent)s have been spent. The budget cannot be less.") % {"spent": spent})
        row.budget = budget
        for name, value in settings.items():
            setattr(row, name, value)
        row.save()
        record(study, "panel-study.planned", by, now, budget=str(budget))
    return row


def check_study(study: Study, row: PanelStudy, address: str) -> PanelCheck:
    """Say what making and publishing the study would send and cost.

    Raises PanelError.
    """
    _check_addresses(study)
    api = api_of(study.project)
    if currency := api.currency():
        _check_currency(study, currency)
    owed = total_owed(pay_rows(study))
    return PanelCheck(_draft(study, row, address), _price(api, study, study.places), row.left + row.rewards, owed)


def take_step(
    step: PanelStep, *, study: Study, by: User, now: datetime, address: str = "", places: int | None = None
) -> str:
    """Take a step of the study at Prolific, and return a sentence about what was done.

    Every step can be repeated: it first asks Prolific what is done already.

    Raises PanelError.
    """
    api = api_of(study.project)
    with one_at_a_time(study, now) as row:
        if step == PanelStep.MAKE:
            return _make(api, row, address, by, now)
        if not row.panel_id:
            raise PanelError(_("Make the draft first."))
        if step == PanelStep.PUBLISH:
            return _publish(api, row, by, now)
        if step == PanelStep.PLACES:
            return _add_places(api, row, places or 0, by, now)
        if step == PanelStep.PAY:
            return panel_pay.approve_and_pay(api, row, by, now)
        if step == PanelStep.RELEASE:
            return panel_pay.release(api, row, by, now)
        return _steer(api, row, step, by, now)


def _reserve(row: PanelStudy, rewards: Decimal) -> Decimal:
    """Write down what all places together cost, before Prolific is asked for them; returns what it was before."""
    with transaction.atomic():
        fresh = locked(row.study)
        before, rewards = fresh.rewards, max(rewards, fresh.rewards)
        check_budget(fresh, rewards - before)
        fresh.rewards = rewards
        fresh.save(update_fields=["rewards"])
    return before


def _make(api: ProlificApi, row: PanelStudy, address: str, by: User, now: datetime) -> str:
    study = row.study
    _check_addresses(study)
    check_budget(row, _price(api, study, study.places) - row.rewards)
    # It may have been made by a request that got no answer.
    name = _internal_name(study)
    there = next((one for one in api.studies() if one.internal_name == name), None)
    there = there or api.make_study(_draft(study, row, address))
    with transaction.atomic():
        PanelStudy.objects.filter(pk=row.pk).update(panel_id=there.id, status=there.status)
        record(study, "panel-study.made", by, now)
    _check_same(study, there)
    return _("The draft has been made. Look at it on Prolific before you publish it.")


def _publish(api: ProlificApi, row: PanelStudy, by: User, now: datetime) -> str:
    there = api.study(row.panel_id)
    _check_same(row.study, there)
    before = _reserve(row, max(_price(api, row.study, there.places), there.cost))
    if there.status == rules.UNPUBLISHED:
        with _struck_out_if_refused(row, before):
            api.transition(row.panel_id, "PUBLISH")
    status = api.study(row.panel_id).status
    with transaction.atomic():
        Study.objects.filter(pk=row.study_id, places__lt=there.places).update(places=there.places)
        PanelStudy.objects.filter(pk=row.pk).update(status=status)
        record(row.study, "panel-study.published", by, now, places=there.places)
    return _("The study has been published.")


def _add_places(api: ProlificApi, row: PanelStudy, places: int, by: User, now: datetime) -> str:
    there = api.study(row.panel_id)
    _check_same(row.study, there)
    if places < there.places:
        text = _("The study has %(places)s places at Prolific. They can only become more.")
        raise PanelError(text % {"places": there.places})
    if there.status == rules.UNPUBLISHED:
        check_budget(row, _price(api, row.study, places) - row.rewards)
        api.set_places(row.panel_id, places)
    else:
        before = _reserve(row, max(_price(api, row.study, places), there.cost))
        if places > there.places:
            with _struck_out_if_refused(row, before):
                api.set_places(row.panel_id, places)
    with transaction.atomic():
        Study.objects.filter(pk=row.study_id, places__lt=places).update(places=places)
        record(row.study, "panel-study.places-added", by, now, places=places)
    return _("The study has %(places)s places.") % {"places": places}


def _steer(api: ProlificApi, row: PanelStudy, step: PanelStep, by: User, now: datetime) -> str:
    there = api.study(row.panel_id)
    if there.status in rules.BEFORE.get(step, ()):
        api.transition(row.panel_id, rules.TRANSITIONS[step])
    status = api.study(row.panel_id).status
    with transaction.atomic():
        PanelStudy.objects.filter(pk=row.pk).update(status=status)
        if step in rules.TRANSITIONS:
            record(row.study, "panel-study.steered", by, now, step=step.value, status=status)
    return _("At Prolific, the study is now: %(status)s.") % {"status": status}


@contextmanager
def _struck_out_if_refused(row: PanelStudy, rewards: Decimal) -> Iterator[None]:
    """Put back what the places cost before, if Prolific says that it did nothing."""
    try:
        yield
    except RefusedByPanelError:
        PanelStudy.objects.filter(pk=row.pk).update(rewards=rewards)
        raise


def _price(api: ProlificApi, study: Study, places: int) -> Decimal:
    cost = api.price(reward=study.reward, places=places)
    if cost < study.reward * places:
        raise PanelError(_("Prolific’s price is less than the rewards. Do not go on before you know why."))
    return cost


def _check_addresses(study: Study) -> None:
    if study.panel != PanelKind.PROLIFIC:
        raise PanelError(_("This study is not Prolific’s."))
    if wrong := rules.wrong_with(_addresses(study)):
        raise PanelError(wrong)


def _addresses(study: Study) -> rules.CompletionAddresses:
    return rules.CompletionAddresses(study.done_url, study.screened_out_url, study.failed_url)


def _check_currency(study: Study, currency: str) -> None:
    if currency != study.currency:
        text = _("Your account at Prolific is in %(theirs)s, but the study in %(ours)s. Change the study’s settings.")
        raise PanelError(text % {"theirs": currency, "ours": study.currency})


def _check_same(study: Study, there: StudyThere) -> None:
    """Refuse to spend on a study that somebody has since changed, here or at Prolific."""
    if there.currency:
        _check_currency(study, there.currency)
    if there.reward != study.reward:
        text = _("The reward is %(theirs)s at Prolific, but %(ours)s here. Make both the same.")
        raise PanelError(text % {"theirs": there.reward, "ours": study.reward})


def _internal_name(study: Study) -> str:
    """What the draft is found by, whether or not its making was answered."""
    return f"crosslens-{study.pk}-{study.token[:MIN_NAMED_CHARACTERS]}"


def _draft(study: Study, row: PanelStudy, address: str) -> dict[str, Any]:
    return {
        "name": study.name,
        "internal_name": _internal_name(study),
        "description": row.description,
        "external_study_url": address,
        "prolific_id_option": "url_parameters",
        "completion_codes": rules.completion_codes(_addresses(study)),
        "total_available_places": study.places,
        "estimated_completion_time": row.minutes,
        "reward": rules.in_cents(study.reward),
        "device_compatibility": [*ALL_DEVICES],
    }
