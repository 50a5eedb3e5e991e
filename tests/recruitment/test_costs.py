"""Hours, quality and cost of everybody who worked in a project, whether invited or from a panel."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Rating, Round, Tally
from annotation.services import figures
from core.people.models import AuditEntry, Project, User
from core.people.rules.pay import cost_of
from office.recruitment.models import HourlyRate, Participant, ParticipantState
from office.recruitment.rules.pay import cost_of_participant, divided_cents
from office.recruitment.selectors.costs import CostRow, cost_rows
from office.recruitment.services.studies import RateInCurrency, set_rates
from tests.annotation.submitting import submit_captions
from tests.annotation.test_quality_table import rated_round
from tests.factories import NOW, make_annotator, make_comparison, make_project, make_rater, make_round, make_user
from tests.recruitment.panel import make_study
from tests.sxs_eval.judged import judge_all

pytestmark = pytest.mark.django_db
HOUR_MS = 3_600_000
COSTS, RATES = (reverse(f"recruitment:{name}", args=["lions"]) for name in ("cost-list", "rates-edit"))


def worked(round: Round, name: str, hours: float = 1) -> User:
    """Somebody who submitted a batch of three captions, and the time it took."""
    person = make_annotator(round, name)
    submit_captions(round, person)
    Tally.objects.filter(round=round, person=person).update(rating_ms=0, writing_ms=int(hours * HOUR_MS))
    return person


def rates(project: Project, **by_tag: str) -> None:
    """Set rates such as `all_="12 EUR"` and `de="9 GBP"`."""
    given = {tag.rstrip("_").replace("all", ""): rate.split() for tag, rate in by_tag.items()}
    wanted = {tag: RateInCurrency(Decimal(amount), currency) for tag, (amount, currency) in given.items()}
    set_rates(project=project, rates=wanted, by=project.created_by, now=NOW)


def row_of(project: Project, name: str) -> CostRow:
    (row,) = [row for row in cost_rows(project) if row.person.username == name]
    return row


# Rules


@pytest.mark.parametrize(
    ("active_ms", "rate", "cost"),
    [(HOUR_MS, "12", "12.00"), (HOUR_MS // 2, "9.99", "5.00"), (0, "12", "0.00"), (1, "12", "0.00")],
)
def test_hours_cost_what_the_rate_says_to_the_cent(active_ms: int, rate: str, cost: str):
    assert cost_of(active_ms=active_ms, rate=Decimal(rate)) == Decimal(cost)


@pytest.mark.parametrize(
    ("rewards", "cost"), [([], "0"), (["3"], "12"), (["20"], "20"), (["8", "9"], "17"), (["1", "2"], "12")]
)
def test_a_panel_is_paid_the_rewards_and_what_is_missing_to_the_rate(rewards: list[str], cost: str):
    paid = cost_of_participant(active_ms=HOUR_MS, rewards=[Decimal(one) for one in rewards], rate=Decimal(12))
    assert paid == Decimal(cost)


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        ("10", [1, 1, 1], ["3.33", "3.33", "3.34"]),
        ("10", [3, 1], ["7.50", "2.50"]),
        ("10", [0, 0], ["0", "10"]),
        ("10", [5], ["10"]),
        ("10", [], []),
    ],
)
def test_nothing_is_lost_where_a_sum_is_divided(total: str, weights: list[int], parts: list[str]):
    assert divided_cents(Decimal(total), weights) == [Decimal(part) for part in parts]


# What is counted


def test_captions_and_their_time_cost_the_rate_of_the_language_or_of_the_project(project: Project, round: Round):
    worked(round, "ann", hours=1.5)
    assert row_of(project, "ann").cost is None
    rates(project, all_="12 EUR")
    row = row_of(project, "ann")
    assert (row.done.captions, row.hours, row.cost, row.currency) == (3, 1.5, Decimal("18.00"), "EUR")
    rates(project, all_="12 EUR", de="10 GBP")
    row = row_of(project, "ann")
    assert (row.cost, row.currency) == (Decimal("15.00"), "GBP")


def test_who_rated_captions_has_ratings_and_who_wrote_them_the_share_that_is_good():
    project, good, bad = make_project("tigers"), Rating.GOOD, Rating.BAD
    verification, raters = rated_round((good, bad, good, good), project=project, places=1)
    for one in Round.objects.all():
        figures.compute(round_id=one.pk, now=NOW)
    assert verification.verifies is not None
    author = verification.verifies.captions.first().author
    assert author is not None
    Tally.objects.update_or_create(round=verification.verifies, person=author, defaults={"captions": 4})
    written, rated = row_of(project, author.username), row_of(project, raters[0].username)
    assert (written.done.captions, written.done.verified, written.good) == (4, 4, 0.75)
    assert (rated.done.ratings, rated.done.captions, rated.good) == (4, 0, None)


def test_judgements_and_attention_checks_of_raters_are_counted_with_their_time(project: Project):
    comparison = make_comparison(project=project, images=10, batch_size=10, repeat_percent=20)
    keys = list(comparison.collection.entries.values_list("key", flat=True))
    rita = make_rater(comparison, "rita")
    judge_all(comparison, rita, dict.fromkeys(keys, 2), again=-2)
    judging = row_of(project, "rita").judging
    assert (judging.judgements, judging.checks, judging.passed) == (10, 2, 0)
    assert judging.active_ms == 12 * 4000


def test_a_person_of_a_panel_costs_what_the_panel_pays_once_they_are_done(project: Project, round: Round):
    rates(project, all_="100 EUR")
    ann = worked(round, "ann")
    study = make_study(project, reward=3, rate=9)
    participant = Participant.objects.create(study=study, user=ann, panel_id="5f1a", arrived_at=NOW)
    row = row_of(project, "ann")
    assert (row.panel_id, row.cost, row.currency) == ("5f1a", Decimal(0), "GBP")
    Participant.objects.filter(pk=participant.pk).update(state=ParticipantState.DONE, ended_at=NOW)
    assert row_of(project, "ann").cost == Decimal("9.00")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_other_projects_are_not_in_it(project: Project, round: Round):
    other = make_round(images=3)
    worked(other, "cid")
    assert cost_rows(project) == []


# Pages


def test_the_page_has_everybody_with_totals_in_each_currency(manager: Client, project: Project, round: Round):
    worked(round, "ann")
    worked(round, "bob", hours=2)
    page = manager.get(COSTS).content.decode()
    assert "enter what an hour is paid" in page
    rates(project, all_="12 EUR")
    page = manager.get(COSTS).content.decode()
    for shown in ("ann", "bob", "12.00 EUR", "24.00 EUR", "36.00 EUR", "German"):
        assert shown in page


def names(response: Any) -> list[str]:
    return [row.person.username for row in response.context["page"]]


def test_it_is_sorted_and_filtered_and_so_is_the_file(manager: Client, project: Project, round: Round):
    worked(round, "ann")
    worked(round, "bob", hours=2)
    czech = make_round(project=project, language="cs", images=3)
    worked(czech, "cid", hours=0.5)
    rates(project, all_="12 EUR")
    assert names(manager.get(COSTS)) == ["ann", "bob", "cid"]
    assert names(manager.get(COSTS, {"sort": "-cost"})) == ["bob", "ann", "cid"]
    assert names(manager.get(COSTS, {"name": "B"})) == ["bob"]
    assert names(manager.get(COSTS, {"language": "cs"})) == ["cid"]
    page = manager.get(COSTS, {"name": "B", "language": "de"}).content.decode()
    [link] = re.findall(r'href="([^"]*/export/[^"]*)"', page)
    answer: Any = manager.get(f"{unescape(link)}&format=csv")
    [row] = csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig")))
    assert [row[name] for name in ("name", "hours", "captions", "cost", "currency")] == [
        "bob",
        "2.0",
        "3",
        "24.00",
        "EUR",
    ]
    assert row["address"] == "bob@example.org"


@pytest.mark.long(reason="at least three others run each of its lines")
def test_many_people_take_as_many_queries_as_one(
    manager: Client, round: Round, django_assert_num_queries: Any, django_assert_max_num_queries: Any
):
    worked(round, "ann")
    with django_assert_max_num_queries(25) as few:
        manager.get(COSTS)
    for name in ("bob", "cid", "dia"):
        person = make_user(name)
        Tally.objects.create(round=round, person=person, captions=1)
    with django_assert_num_queries(len(few)):
        manager.get(COSTS)


# Rates


def test_rates_are_set_for_the_project_and_for_a_language(manager: Client, project: Project, round: Round):
    make_round(project=project, language="cs", images=1)
    values = {"rate-": "12.50", "currency-": "EUR", "rate-de": "10", "currency-de": "GBP", "rate-cs": "300"}
    assert manager.post(RATES, values)["Location"] == COSTS
    kept = {rate.language_id: (rate.rate, rate.currency) for rate in HourlyRate.objects.all()}
    assert kept == {
        None: (Decimal("12.50"), "EUR"),
        "de": (Decimal(10), "GBP"),
        "cs": (Decimal(300), "EUR"),
    }
    assert AuditEntry.objects.get(action="rates.changed").details["de"] == "10 GBP"
    manager.post(RATES, {"rate-": "", "currency-": ""})
    assert not HourlyRate.objects.exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rate-": "12"}, "Enter the currency of this rate."),
        ({"rate-": "12", "currency-": "euro"}, "three capital letters"),
        ({"rate-": "-1", "currency-": "EUR"}, "greater than or equal to 0"),
        ({"rate-de": "x", "currency-de": "EUR"}, "Enter a number."),
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(manager: Client, round: Round, values: dict[str, str], said: str):
    response = manager.post(RATES, values)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not HourlyRate.objects.exists()


@pytest.mark.postgres
def test_the_database_has_one_rate_for_each_language_and_one_for_the_others(project: Project, round: Round):
    rates(project, all_="12 EUR", de="9 EUR")
    about = {"project": project, "rate": 1, "currency": "EUR"}
    for wrong in ({}, {"language": round.language}, {"language_id": "cs", "rate": -1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            HourlyRate.objects.create(**(about | wrong))
