"""Answers that look like those of a script are shown to managers and in the report."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse

from core.people.models import AuditEntry, Project, User
from sxs_eval.forms.comparisons import ComparisonForm
from sxs_eval.forms.planning import PlanForm
from sxs_eval.models import Comparison, RaterState, RaterStatus
from sxs_eval.rules.scripted import JudgingScriptRule, reading_s, rules_broken
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
        ([0.4] * 10, {JudgingScriptRule.FAST}),
        ([0.4] * 40, {JudgingScriptRule.FAST, JudgingScriptRule.STEADY}),
        ([*READING, *[0.4, 1.4, 0.8, 1.1, 0.6] * 2, *READING], {JudgingScriptRule.FAST}),
        ([second for slow in READING[:120] for second in (slow, 0.9)], {JudgingScriptRule.FAST}),
        ([*READING[:20], 0.9] * 9, set()),
        ([*READING, *[5.0, 5.2] * 15], {JudgingScriptRule.STEADY}),
        ([*READING, *[5.0, 5.2] * 14], set()),
        ([3.0, 9.0] * 50, set()),
    ],
)
def test_answers_break_the_rules_that_they_break(seconds: list[float], broken: set[JudgingScriptRule]):
    assert set(rules_broken(seconds)) == broken


@pytest.mark.parametrize(
    ("characters", "scripts", "seconds"),
    [
        (0, ["Latn"], 1.5),
        (75, ["Latn"], 1.5),
        (200, ["Latn"], 4.0),
        (60, ["Hani"], 4.0),
        (200, ["Thai"], 4.0),
        (60, [], 1.5),
    ],
)
def test_reading_takes_as_long_as_the_captions_are(characters: int, scripts: list[str], seconds: float):
    assert reading_s(characters, scripts) == seconds


def test_long_captions_cannot_be_read_in_two_seconds():
    assert rules_broken([2.0, 2.5, 3.1, 1.9] * 3, [1.5] * 12) == {}
    assert set(rules_broken([2.0, 2.5, 3.1, 1.9] * 3, [4.0] * 12)) == {JudgingScriptRule.FAST}


def judge_at(comparison: Comparison, name: str, *seconds: float) -> None:
    """A new rater judges a batch, each pair in so many seconds."""
    now, rows = NOW, take(comparison, make_rater(comparison, name)).judgements.select_related("person")
    for row, spent in zip(rows.order_by("position"), seconds, strict=True):
        now += timedelta(seconds=spent)
        answer(row, 1, now=now, active_ms=9000)


@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def scripted(self):
        """One comparison that a script judged at 0.4 s an answer, saying of its time what it likes, and a person."""
        made = make_comparison(images=12, batch_size=12, replication=2, project=make_project("lions"))
        for name, pace_s in (("script", 0.4), ("person", 7.0)):
            judge_at(made, name, *(pace_s * (1 + number % 3) for number in range(12)))
        return made

    @pytest.fixture
    def manager(self, scripted) -> Client:
        return client_of(scripted.project.created_by)

    def test_the_page_and_the_report_say_who_broke_which_rule_by_the_clock_of_the_server(self, scripted, manager):
        page = manager.get(reverse("sxs_eval:rater-list", args=["lions", scripted.pk])).content.decode()
        assert page.count("looks scripted") == 1
        assert str(JudgingScriptRule.FAST.label) in page
        page = manager.get(reverse("sxs_eval:comparison-show", args=["lions", scripted.pk])).content.decode()
        assert "The answers of 1 rater look scripted." in page
        assert page.count("looks scripted</span>") == 1
        ((_rater, broken),) = scripted_raters(scripted).items()
        assert broken == {JudgingScriptRule.FAST: "12 / 12"}

    def test_a_click_sets_aside_what_looks_scripted_and_another_brings_it_back(self, scripted, manager):
        pages = {
            name: reverse(f"sxs_eval:{name}", args=["lions", scripted.pk]) for name in ("rater-list", "comparison-show")
        }
        assert "Pause this rater" in manager.get(pages["rater-list"]).content.decode()
        paused = manager.post(reverse("sxs_eval:scripted-pause", args=["lions", scripted.pk]), follow=True)
        assert "1 rater is paused." in paused.content.decode()
        assert "Pause this rater" not in paused.content.decode()
        status = RaterStatus.objects.get(comparison=scripted)
        assert (status.person.username, status.state) == ("script", RaterState.PAUSED)
        report = manager.get(pages["comparison-show"]).content.decode()
        assert "12 judgements are set aside: 0 late, 12 by paused raters, 0 by excluded raters." in report
        assert "looks scripted</span>" in report
        assert "The answers of 1 rater look scripted." not in report
        assert AuditEntry.objects.filter(action="rater.paused").count() == 1

        decide = reverse("sxs_eval:rater-decide", args=["lions", scripted.pk, status.person.pk])
        manager.post(decide, {"decision": "restore", "note": "They were testing."})
        assert "Pause this rater" not in manager.get(pages["rater-list"]).content.decode(), "a manager has looked at it"
        assert "set aside" not in manager.get(pages["comparison-show"]).content.decode()
        manager.post(decide, {"decision": "pause", "note": ""})
        assert RaterStatus.objects.get(comparison=scripted).state == RaterState.PAUSED

    def test_who_is_excluded_is_not_paused(self, scripted, manager):
        rater = User.objects.get(username="script")
        decide = reverse("sxs_eval:rater-decide", args=["lions", scripted.pk, rater.pk])
        manager.post(decide, {"decision": "exclude", "note": "A script."})
        manager.post(decide, {"decision": "pause", "note": ""})
        manager.post(reverse("sxs_eval:scripted-pause", args=["lions", scripted.pk]))
        assert RaterStatus.objects.get(comparison=scripted).state == RaterState.EXCLUDED

    def test_three_scripts_do_not_make_a_clean_report(self, manager):
        made = make_comparison(images=12, batch_size=12, replication=3, project=Project.objects.get(slug="lions"))
        for name in ("one", "two", "three"):
            judge_at(made, name, *[0.4] * 12)
        page = manager.get(reverse("sxs_eval:comparison-show", args=["lions", made.pk])).content.decode()
        assert "The answers of 3 raters look scripted." in page
        assert page.count("looks scripted</span>") == 3


def test_attention_items_are_there_unless_a_manager_takes_them_out():
    form = ComparisonForm.base_fields
    assert [form[name].initial for name in ("gold_percent", "repeat_percent")] == [10, 5]
    assert [PlanForm.base_fields[name].initial for name in ("gold_percent", "repeat_percent")] == [10, 5]
