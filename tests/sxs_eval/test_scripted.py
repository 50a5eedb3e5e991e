"""Answers that look like those of a script are shown to managers and in the report."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse

from sxs_eval.rules.scripted import Rule, rules_broken
from sxs_eval.selectors.scripted import scripted_raters
from tests.clients import client_of
from tests.factories import NOW, make_comparison, make_project, make_rater
from tests.sxs_eval.judged import answer, take

RNG = Random(1)
READING = [4 + 20 * RNG.random() for _ in range(200)]


@pytest.mark.parametrize(
    ("seconds", "broken"),
    [
        ([], set()),
        (READING, set()),
        ([0.4] * 9, set()),
        ([0.4] * 10, {Rule.FAST}),
        ([0.4] * 40, {Rule.FAST, Rule.STEADY}),
        ([*READING, *[0.4, 1.4, 0.8, 1.1, 0.6] * 2, *READING], {Rule.FAST}),
        ([second for slow in READING[:120] for second in (slow, 0.9)], {Rule.FAST}),
        ([*READING[:20], 0.9] * 9, set()),
        ([*READING, *[5.0, 5.2] * 15], {Rule.STEADY}),
        ([*READING, *[5.0, 5.2] * 14], set()),
        ([3.0, 9.0] * 50, set()),
    ],
)
def test_answers_break_the_rules_that_they_break(seconds: list[float], broken: set[Rule]):
    assert set(rules_broken(seconds)) == broken


@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def scripted(self):
        """One comparison that a script judged at 0.4 s an answer, saying of its time what it likes, and a person."""
        made = make_comparison(images=12, batch_size=12, replication=2, project=make_project("lions"))
        for name, pace_s in (("script", 0.4), ("person", 7.0)):
            rater = make_rater(made, name)
            rows = take(made, rater).judgements.select_related("person").order_by("position")
            now = NOW
            for number, row in enumerate(rows):
                now += timedelta(seconds=pace_s * (1 + number % 3))
                answer(row, 1, now=now, active_ms=9000)
        return made

    @pytest.fixture
    def manager(self, scripted) -> Client:
        return client_of(scripted.project.created_by)

    def test_the_page_and_the_report_say_who_broke_which_rule_by_the_clock_of_the_server(self, scripted, manager):
        page = manager.get(reverse("sxs_eval:rater-list", args=["lions", scripted.pk])).content.decode()
        assert page.count("looks scripted") == 1
        assert str(Rule.FAST.label) in page
        page = manager.get(reverse("sxs_eval:comparison-show", args=["lions", scripted.pk])).content.decode()
        assert "The answers of 1 rater look scripted." in page
        assert page.count("looks scripted</span>") == 1
        ((_rater, broken),) = scripted_raters(scripted).items()
        assert broken == {Rule.FAST: "12 / 12"}
