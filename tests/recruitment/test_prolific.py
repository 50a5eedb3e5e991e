"""Studies at Prolific: made, priced, published, topped up and paid, never past their budget, whatever goes wrong."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.models import CaptionItem
from core.people.models import AuditEntry
from office.recruitment.forms import StudyForm
from office.recruitment.models import (
    BonusPayment,
    PaidBonus,
    PanelStudy,
    Participant,
    ParticipantState,
    PaymentState,
    ProlificAccount,
    Study,
)
from office.recruitment.rules.prolific import PanelStep, code_in
from office.recruitment.selectors.panels import minutes_of
from office.recruitment.services import panel_budget, panel_pay, panel_studies
from office.recruitment.services.panel_budget import BudgetError
from office.recruitment.services.panel_pay import OwedBonus
from office.recruitment.services.panel_studies import check_study, plan_study, set_token, take_step
from office.recruitment.services.prolific_api import PanelError, ProlificApi, RefusedByPanelError, UnansweredError
from tests.annotation.submitting import submit_captions
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, make_annotator, make_project, make_round
from tests.recruitment.panel import CODES, Panel, make_study
from tests.recruitment.prolific import TOKEN, Fault, Prolific

pytestmark = pytest.mark.django_db
MAKE, PUBLISH, PLACES, PAY = PanelStep.MAKE, PanelStep.PUBLISH, PanelStep.PLACES, PanelStep.PAY
ADDRESS = "https://lions.example/study/token/?PROLIFIC_PID={{%PROLIFIC_PID%}}"
MINUTE_MS = 60_000


def plan(study: Study, budget: object = 100, **about: Any) -> PanelStudy:
    settings = {"description": "Describe images.", "minutes": 20} | about
    return plan_study(study=study, by=study.created_by, now=NOW, budget=Decimal(str(budget)), **settings)


def step(study: Study, what: PanelStep, **about: Any) -> str:
    return take_step(what, study=study, by=study.created_by, address=ADDRESS, **({"now": NOW} | about))


@pytest.fixture
def planned(study: Study, account: ProlificAccount, prolific: Prolific) -> PanelStudy:
    return plan(study)


@pytest.fixture
def published(planned: PanelStudy) -> PanelStudy:
    step(planned.study, MAKE)
    step(planned.study, PUBLISH)
    return planned


def somebody_done(study: Study, prolific: Prolific, name: str = "5f1a") -> Participant:
    about = {"panel_id": name, "session_id": f"of-{name}", "state": ParticipantState.DONE}
    prolific.join(name, f"of-{name}")
    prolific.complete(f"of-{name}", "DONE")
    return Participant.objects.create(study=study, arrived_at=NOW, ended_at=NOW, **about)


@pytest.fixture
def owed(published: PanelStudy, prolific: Prolific, monkeypatch: pytest.MonkeyPatch) -> Participant:
    """Somebody who is done, and to whom 5.00 are owed until they are paid."""
    participant = somebody_done(published.study, prolific)

    def owed_bonuses(_row: PanelStudy, there: panel_pay.Submissions) -> list[OwedBonus]:
        is_paid = PaidBonus.objects.exists() or there[participant.session_id].bonuses
        return [] if is_paid else [OwedBonus(participant, Decimal(5))]

    monkeypatch.setattr(panel_pay, "owed_bonuses", owed_bonuses)
    return participant


class TestTwentyPeople:
    def test_a_study_of_twenty_people_runs_to_the_last_payment_within_its_budget(self, prolific):
        project = make_project("lions")
        round = make_round(project=project, images=20, batch_size=1, replication=2)
        manager = client_of(project.created_by)
        study = make_study(project, places=12)
        panel = Panel(study)
        pages = partial(reverse, args=["lions", study.pk])

        def act(action: str, **sent: object) -> str:
            there = reverse("recruitment:panel-act", args=["lions", study.pk, action])
            return manager.post(there, sent, follow=True).content.decode()

        manager.post(reverse("recruitment:prolific-token", args=["lions"]), {"token": TOKEN})
        about = {"description": "Describe an image.", "minutes": 20, "budget": "100"}
        manager.post(pages("recruitment:panel-show"), about)
        assert "50.40 GBP" in manager.get(pages("recruitment:panel-check")).content.decode()
        assert not prolific.studies

        prolific.faults += [Fault("POST /studies/", is_lost=True)]
        assert "may have done it all the same" in act("make")
        assert "The draft has been made" in act("make")
        prolific.faults += [Fault("transition", 429, headers={"Retry-After": "0"}), Fault("transition", 503)]
        assert "may have done it all the same" in act("publish")
        assert "has been published" in act("publish")
        prolific.faults += [Fault("PATCH", is_lost=True)]
        assert "may have done it all the same" in act("places", places=20)
        assert "has 20 places" in act("places", places=20)
        assert "now: PAUSED" in act("pause")
        assert "now: ACTIVE" in act("resume")

        people = [f"p{number}" for number in range(22)]
        for number, person in enumerate(people):
            prolific.join(person, panel.submission(person))
            panel.send(person)
            if number < 2:
                prolific.submissions[panel.submission(person)]["status"] = "RETURNED"
                assert [json.loads(panel.tell(person).content)["freed"] for _twice in range(2)] == [True, False]
                continue
            user = study.participants.get(panel_id=person).user
            submit_captions(round, user, now=timezone.now())
            CaptionItem.objects.filter(person=user).update(rating_ms=0, writing_ms=(10 + number) * MINUTE_MS)
            page = panel.browser(person).post(reverse("recruitment:study-finish"), follow=True).content.decode()
            assert CODES["done_url"] in page
            prolific.complete(panel.submission(person), "DONE")
            panel.tell(person, "AWAITING REVIEW")
        assert json.loads(panel.tell(people[5]).content)["freed"] is False

        prolific.faults += [
            Fault("bulk-approve", 500),
            Fault("bonus-payments", is_lost=True),
            Fault("/pay/", is_lost=True),
        ]
        assert "may have done it all the same" in act("pay")
        assert "may have done it all the same" in act("pay")
        assert "Bonuses paid: 0" in act("pay")

        row = PanelStudy.objects.get()
        assert {one["status"] for one in prolific.submissions.values()} == {"APPROVED", "RETURNED"}
        bonuses = [one["bonus_payments"] for one in prolific.submissions.values()]
        assert sorted(cents for paid in bonuses for cents in paid) == [15 * minute for minute in range(1, 12)]
        assert (prolific.times("/pay/"), prolific.times("POST /studies/")) == (1, 1 + prolific.times("transition"))
        assert row.rewards + row.bonuses == Decimal(prolific.spent_cents) / 100 == Decimal("97.86")
        assert row.left == Decimal("2.14")
        assert BonusPayment.objects.get().state == PaymentState.PAID
        assert manager.get(pages("recruitment:bonus-export")).getvalue() == b""


class TestBudgets:
    def test_a_study_that_costs_more_than_its_budget_is_neither_made_nor_published(self, study, account, prolific):
        plan(study, "12.59")
        with pytest.raises(BudgetError, match=r"12\.60 GBP with fees, but only 12\.59 GBP"):
            step(study, MAKE)
        assert not prolific.studies
        plan(study, "12.60")
        step(study, MAKE)
        prolific.study["total_cost"] = 1261
        with pytest.raises(BudgetError):
            step(study, PUBLISH)
        assert prolific.spent_cents == 0

    def test_the_dry_run_says_what_would_be_sent_and_cost_and_sends_nothing(self, planned, prolific):
        check = check_study(planned.study, planned, ADDRESS)
        assert (check.cost, check.left, check.fits, check.owed) == (Decimal("12.60"), Decimal(100), True, Decimal(0))
        assert check.body | {"internal_name": ""} == {
            "name": "Captions in German",
            "internal_name": "",
            "description": "Describe images.",
            "external_study_url": ADDRESS,
            "prolific_id_option": "url_parameters",
            "completion_codes": [
                {"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]},
                {
                    "code": "OUT",
                    "code_type": "OTHER",
                    "actions": [
                        {
                            "action": "REQUEST_RETURN",
                            "return_reason": "The languages of this study do not match yours.",
                        }
                    ],
                },
                {"code": "FAILED", "code_type": "FAILED_ATTENTION_CHECK", "actions": [{"action": "MANUALLY_REVIEW"}]},
            ],
            "total_available_places": 3,
            "estimated_completion_time": 20,
            "reward": 300,
            "device_compatibility": ["desktop", "tablet", "mobile"],
        }
        assert not prolific.studies
        assert set(prolific.asked) == {"GET /users/me/", "POST /study-cost-calculator/"}

    def test_bonuses_count_and_the_budget_cannot_become_less_than_what_is_spent(self, published, owed, prolific):
        plan(published.study, "19.59")
        with pytest.raises(BudgetError, match=r"7\.00 GBP with fees, but only 6\.99 GBP"):
            step(published.study, PAY)
        assert (prolific.bonuses_cents, PaidBonus.objects.count()) == (Decimal(0), 0)
        plan(published.study, "19.60")
        step(published.study, PAY)
        assert (prolific.spent_cents, PanelStudy.objects.get().left) == (1960, Decimal(0))
        with pytest.raises(BudgetError, match=r"19\.60 GBP have been spent"):
            plan(published.study, "19.59")

    def test_places_that_are_added_count(self, published, prolific):
        plan(published.study, "16.79")
        with pytest.raises(BudgetError):
            step(published.study, PLACES, places=4)
        plan(published.study, "16.80")
        step(published.study, PLACES, places=4)
        assert (prolific.spent_cents, Study.objects.get().places, PanelStudy.objects.get().left) == (
            1680,
            4,
            Decimal(0),
        )

    def test_the_database_keeps_no_row_past_its_budget(self, planned):
        with pytest.raises(IntegrityError), transaction.atomic():
            PanelStudy.objects.update(rewards=60, bonuses=Decimal("40.01"))

    def test_another_currency_or_reward_is_refused_before_anything_is_spent(self, planned, prolific):
        step(planned.study, MAKE)
        prolific.study["reward"] = 301
        with pytest.raises(PanelError, match=r"3\.01 at Prolific, but 3"):
            step(planned.study, PUBLISH)
        prolific.study.update(reward=300, presentment_currency_code="USD")
        with pytest.raises(PanelError, match="in USD, but the study in GBP"):
            step(planned.study, PUBLISH)
        assert prolific.spent_cents == PanelStudy.objects.get().rewards == 0

    def test_a_refusal_gives_back_what_was_written_down(self, planned, prolific):
        step(planned.study, MAKE)
        prolific.faults += [Fault("transition", 400)]
        with pytest.raises(RefusedByPanelError, match="A fault"):
            step(planned.study, PUBLISH)
        assert PanelStudy.objects.get().rewards == 0

    def test_what_got_no_answer_stays_spent_until_prolific_is_asked(self, planned, prolific):
        step(planned.study, MAKE)
        prolific.faults += [Fault("transition", is_lost=True)]
        with pytest.raises(UnansweredError):
            step(planned.study, PUBLISH)
        assert PanelStudy.objects.get().rewards == Decimal("12.60")
        step(planned.study, PUBLISH)
        assert (prolific.times("transition"), PanelStudy.objects.get().status) == (1, "ACTIVE")


class TestPaying:
    def test_each_bonus_is_paid_once_and_not_listed_again(self, published, owed, prolific):
        for _again in range(2):
            step(published.study, PAY)
        assert prolific.submissions["of-5f1a"] == {
            "id": "of-5f1a",
            "participant_id": "5f1a",
            "status": "APPROVED",
            "bonus_payments": [500],
        }
        assert prolific.times("/pay/") == prolific.times("bulk-approve") == 1

    def test_after_a_lost_answer_nobody_is_paid_again_before_the_submissions_show_the_bonus(
        self, published, owed, prolific
    ):
        prolific.faults += [Fault("/pay/", is_lost=True)]
        prolific.shows_bonuses = False
        for _again in range(3):
            with pytest.raises(UnansweredError):
                step(published.study, PAY)
        assert (prolific.times("/pay/"), BonusPayment.objects.get().state) == (1, PaymentState.SENT)
        prolific.submissions["of-5f1a"]["bonus_payments"] = [500]
        step(published.study, PAY)
        assert (prolific.times("/pay/"), BonusPayment.objects.get().state) == (1, PaymentState.PAID)

    def test_a_payment_that_prolific_did_not_make_is_struck_out_after_an_hour_and_paid_then(
        self, published, owed, prolific
    ):
        prolific.faults += [Fault("/pay/", 500)]
        with pytest.raises(UnansweredError):
            step(published.study, PAY)
        with pytest.raises(PanelError, match="less than an hour ago"):
            step(published.study, PanelStep.RELEASE, now=NOW + timedelta(minutes=59))
        step(published.study, PanelStep.RELEASE, now=NOW + timedelta(minutes=61))
        assert (PanelStudy.objects.get().bonuses, PaidBonus.objects.count()) == (Decimal(0), 0)
        step(published.study, PAY)
        assert (prolific.bonuses_cents, PanelStudy.objects.get().bonuses) == (700, Decimal(7))

    def test_a_payment_that_is_refused_can_be_made_again(self, published, owed, prolific):
        prolific.faults += [Fault("/pay/", 400)]
        with pytest.raises(RefusedByPanelError):
            step(published.study, PAY)
        assert (PanelStudy.objects.get().bonuses, PaidBonus.objects.count()) == (Decimal(0), 0)
        step(published.study, PAY)
        assert prolific.bonuses_cents == 700

    def test_who_returned_or_was_rejected_there_gets_nothing_though_done_here(self, published, prolific):
        participant = somebody_done(published.study, prolific)
        prolific.submissions[participant.session_id]["status"] = "REJECTED"
        assert step(published.study, PAY) == "Approved: 0. Bonuses paid: 0."


class TestFaults:
    def test_a_draft_whose_answer_was_lost_is_found_and_not_made_again(self, planned, prolific):
        prolific.faults += [Fault("POST /studies/", is_lost=True)]
        with pytest.raises(UnansweredError):
            step(planned.study, MAKE)
        step(planned.study, MAKE)
        step(planned.study, MAKE)
        assert (prolific.times("POST /studies/"), PanelStudy.objects.get().panel_id) == (1, "study1")

    def test_a_killed_step_lets_the_next_one_through_after_minutes(self, planned):
        PanelStudy.objects.update(busy_until=NOW + panel_budget.STEP_TAKES)
        with pytest.raises(PanelError, match="Another step of this study is on its way"):
            step(planned.study, MAKE)
        step(planned.study, MAKE, now=NOW + panel_budget.STEP_TAKES)

    def test_a_wait_that_is_too_long_is_said_and_not_made(self, planned, prolific):
        prolific.faults += [Fault("cost-calculator", 429, headers={"Retry-After": "90"})]
        with pytest.raises(RefusedByPanelError, match="Try again in 90 seconds"):
            step(planned.study, MAKE)

    def test_no_message_has_the_token(self, project, prolific, settings):
        api = ProlificApi("another-token")
        assert "another-token" not in repr(api)
        with pytest.raises(RefusedByPanelError) as refused:
            set_token(project=project, token="another-token", by=project.created_by, now=NOW)
        assert str(refused.value) == "Prolific does not accept the token. Enter another one."
        assert not ProlificAccount.objects.exists()
        settings.PROLIFIC_API = "http://127.0.0.1:1/api/v1"
        with pytest.raises(RefusedByPanelError, match="cannot be reached"):
            ProlificApi(TOKEN).currency()


class TestPages:
    def test_the_token_is_shown_to_nobody_and_not_in_the_audit_log(self, project, prolific):
        manager = client_of(project.created_by)
        there = reverse("recruitment:prolific-token", args=["lions"])
        assert manager.post(there, {"token": TOKEN}).status_code == 302
        assert ProlificAccount.objects.get().token == TOKEN
        assert TOKEN not in manager.get(there).content.decode()
        assert TOKEN not in str(list(AuditEntry.objects.values()))
        assert TOKEN not in str(ProlificAccount.objects.get())

    def test_new_studies_of_prolific_need_no_codes_and_others_do(self, project):
        about: dict[str, Any] = {"name": "x", "role": "annotator", "languages": ["de"], "places": 1, "batches": 1}
        about |= {"reward": 1, "rate": 1, "currency": "GBP"}
        form = StudyForm(about | {"panel": "prolific"})
        assert form.is_valid(), form.errors
        addresses = [form.cleaned_data[name] for name in ("done_url", "screened_out_url", "failed_url")]
        assert len({code_in(address) for address in addresses}) == 3
        assert list(StudyForm(about | {"panel": "connect"}).errors) == ["done_url"]

    def test_minutes_are_the_median_of_the_batches_so_far(self, study, round):
        assert minutes_of(study) is None
        for minutes in (4, 9, 30):
            person = make_annotator(round, f"ann-{minutes}")
            if minutes < 30:
                submit_captions(round, person)
            CaptionItem.objects.filter(person=person).update(rating_ms=MINUTE_MS, writing_ms=0)
            CaptionItem.objects.filter(person=person, position=1).update(writing_ms=(minutes - 3) * MINUTE_MS)
        assert minutes_of(study) == 7


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestRivals:
    """Places for 4.20 and a bonus for 7.00 at the same moment, with 7.00 left."""

    @pytest.fixture
    def race(self, published: PanelStudy, owed: Participant, prolific: Prolific) -> list[str | BaseException]:
        plan(published.study, "19.60")

        def act(what: PanelStep) -> str:
            return step(published.study, what, places=4)

        outcomes = together_with_errors(act, [PLACES, PAY])
        assert all(isinstance(one, str | PanelError) for one in outcomes), outcomes
        return outcomes

    @pytest.fixture
    def no_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @contextmanager
        def at_once(study: Study, _now: object):
            yield PanelStudy.objects.select_related("study__project").get(study=study)

        monkeypatch.setattr(panel_studies, "one_at_a_time", at_once)

    def test_steps_take_turns_and_pass_no_budget(self, race, prolific):
        assert sum(isinstance(one, PanelError) for one in race) >= 1
        assert prolific.spent_cents <= 1960

    def test_even_without_turns_the_budget_is_written_down_before_it_is_spent(self, no_turns, race, prolific):
        assert sum(isinstance(one, BudgetError) for one in race) == 1
        assert prolific.spent_cents <= 1960

    @pytest.fixture
    def nothing_written_down(self, no_turns, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(panel_studies, "_reserve", lambda row, rewards: row.rewards)
        monkeypatch.setattr(
            panel_pay, "_reserve", lambda row, _group, bonuses, now: BonusPayment(amount=bonuses.cost, sent_at=now)
        )

    def test_control_with_neither_they_pass_it(self, published, owed, prolific, nothing_written_down, race):
        assert prolific.spent_cents == 1680 + 700
