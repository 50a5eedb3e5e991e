"""The order of a batch, who is paused, scales, and answers that look like those of a script."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from core.people.models import AuditEntry, Project, User
from crosslens_metrics.formats.judgements import read_judgements
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.reports.comparison import CountedJudgements
from crosslens_metrics.scales import FIVE_POINTS, MAX_LEVELS, SCALES, SEVEN_POINTS, Scale, ScaleLevel
from sxs_eval.forms.comparisons import ComparisonForm
from sxs_eval.forms.planning import PlanForm
from sxs_eval.models import Comparison, Judgement, RaterState, RaterStatus
from sxs_eval.rules import judging as rules
from sxs_eval.rules.judging import JudgingScriptRule, reading_s, rules_broken
from sxs_eval.selectors.overview import scripted_raters
from sxs_eval.services import judging
from tests.clients import client_of
from tests.factories import NOW, make_comparison, make_project, make_rater
from tests.sxs_eval.judged import answer, take


@given(
    size=st.integers(1, 40),
    golds=st.integers(0, 20),
    old=st.integers(0, 10),
    new=st.integers(0, 20),
    seed=st.integers(),
)
def test_every_pair_comes_once_and_its_repeat_some_showings_later(size, golds, old, new, seed):
    planned = rules.plan_trials(size, golds=golds, old_repeats=old, new_repeats=new, rng=Random(seed))
    assert sorted(trial.pair for trial in planned if trial.kind == "pair") == list(range(size))
    assert sum(trial.kind == "gold" for trial in planned) == golds
    of_this_batch = [(index, trial) for index, trial in enumerate(planned) if trial.kind == "repeat"]
    repeats = {trial.pair: index for index, trial in of_this_batch if trial.pair is not None}
    assert sum(trial == rules.PlannedTrial("repeat") for trial in planned) == old
    assert len(repeats) <= new
    for pair, index in repeats.items():
        assert index - planned.index(rules.PlannedTrial("pair", pair)) > rules.MIN_GAP


def test_a_batch_that_is_long_enough_gets_the_repeats_it_is_to_have():
    planned = rules.plan_trials(20, golds=2, old_repeats=0, new_repeats=4, rng=Random(1))
    assert sum(trial.kind == "repeat" for trial in planned) == 4


@given(size=st.integers(1, 100), percent=st.integers(0, 50))
def test_the_rate_of_attention_items_is_met_on_the_average(size, percent):
    rng = Random(size * 1000 + percent)
    counts = [rules.attention_count(size, percent, rng) for _ in range(300)]
    assert abs(sum(counts) / 300 - size * percent / 100) < 0.16
    assert set(counts) <= {size * percent // 100, size * percent // 100 + 1}


@pytest.mark.parametrize(
    ("kind", "score", "first", "failed"),
    [
        ("gold", 1, None, False),
        ("gold", 0, None, True),
        ("gold", -3, None, True),
        ("repeat", 1, 2, False),
        ("repeat", 0, 3, False),
        ("repeat", -1, 1, True),
        ("repeat", 3, -2, True),
        ("repeat", 3, None, False),
    ],
)
def test_what_fails_an_attention_item(kind, score, first, failed):
    assert rules.has_failed(kind, score, first) is failed


@pytest.mark.parametrize(
    ("failures", "pauses"),
    [
        ([True] * 4, False),
        ([True] * 5, True),
        ([True, True, False, False, False], False),  # exactly 40% is not more than 40%
        ([True, True, True, False, False], True),
        ([False] * 20 + [True] * 8, False),
    ],
)
def test_who_is_paused(failures, pauses):
    assert rules.must_pause(failures, checks_before_pause=5, failures_percent=40) is pauses


def share_paused(failing: float, checks: int, *, checks_before_pause: int, failures_percent: int) -> float:
    """The exact chance that somebody who fails each attention item with this chance is paused at one of them."""
    paused, at_work = 0.0, {0: 1.0}
    for answered in range(1, checks + 1):
        moved: defaultdict[int, float] = defaultdict(float)
        for failures, chance in at_work.items():
            moved[failures] += chance * (1 - failing)
            moved[failures + 1] += chance * failing
        at_work = {}
        for failures, chance in moved.items():
            outcomes = [True] * failures + [False] * (answered - failures)
            if rules.must_pause(outcomes, checks_before_pause=checks_before_pause, failures_percent=failures_percent):
                paused += chance
            else:
                at_work[failures] = chance
    return paused


def test_a_new_comparison_pauses_few_who_pay_attention_and_most_who_do_not():
    new = {"checks_before_pause": rules.CHECKS_BEFORE_PAUSE, "failures_percent": rules.FAILURES_PERCENT}
    random_repeat, random_gold = 18 / 49, 4 / 7  # on seven points: an opposite sign, and no better caption

    assert share_paused(0.2, 90, **new) < 0.05, "Who contradicts themselves in a fifth of repeats pays attention."
    assert share_paused(random_repeat, 90, **new) > 0.65
    assert share_paused((2 * random_gold + random_repeat) / 3, 30, **new) > 0.9
    assert share_paused(1, 15, **new) == pytest.approx(1), "Who always chooses the left contradicts every repeat."
    assert share_paused(0.2, 90, checks_before_pause=5, failures_percent=40) > 0.15


def test_captions_are_equal_whatever_their_form_of_unicode_and_white_space():
    assert rules.are_equal("Ein  Käse ", "Ein Ka\u0308se")
    assert not rules.are_equal("Ein Hund", "ein Hund")


def test_the_shorter_scale_lacks_the_slight_levels_only():
    assert set(SEVEN_POINTS.numbers) - set(FIVE_POINTS.numbers) == {1, -1}
    assert [level.name for level in FIVE_POINTS.levels] == ["MUCH-BETTER", "BETTER", "SIMILAR", "WORSE", "MUCH-WORSE"]


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
@pytest.mark.parametrize(
    ("active_ms", "broken"), [([9000, 4000, 14_000] * 4, set()), ([400, 900, 1200] * 4, {JudgingScriptRule.FAST})]
)
def test_answers_that_come_together_after_a_time_offline_took_their_active_time(
    active_ms: list[int], broken: set[JudgingScriptRule]
):
    made = make_comparison(images=12, batch_size=12)
    rows = take(made, make_rater(made)).judgements.select_related("person").order_by("position")
    for row, spent in zip(rows, active_ms, strict=True):
        answer(row, 1, now=NOW + timedelta(seconds=150), active_ms=spent)
    assert {rule for rules in scripted_raters(made).values() for rule in rules} == broken


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


KNOWN = {number for scale in SCALES.values() for number in scale.numbers}
TRIED = sorted({*KNOWN, max(KNOWN) + 1, min(KNOWN) - 1})
OUTSIDE = [(scale, number) for scale in SCALES.values() for number in TRIED if number not in scale]


def named(value: Scale | int) -> str:
    return f"{value.points}-points" if isinstance(value, Scale) else str(value)


def trial_of(scale: Scale) -> Judgement:
    comparison = make_comparison(images=1, replication=1, scale=scale.points)
    return take(comparison, make_rater(comparison), now=timezone.now()).judgements.get()


def post_answer(client: Client, trial: Judgement, number: int, **more: Any) -> Any:
    client.force_login(trial.person)
    address = reverse("sxs_eval:judgement-save", args=[trial.batch_id, trial.position])
    return client.post(address, {"choice": number}, **more)


def level(number: int) -> ScaleLevel:
    return ScaleLevel(number, "NAME", "choice", "label", "short")


@pytest.mark.parametrize(("scale", "number"), OUTSIDE, ids=named)
class TestOutside:
    @pytest.mark.postgres
    @pytest.mark.django_db
    @pytest.mark.parametrize("is_left", [True, False])
    def test_the_database_refuses_it(self, scale, number, is_left):
        rows = Judgement.objects.filter(pk=trial_of(scale).pk)
        score = number if is_left else -number
        with pytest.raises(IntegrityError, match="judgement_choice_on_its_scale"), transaction.atomic():
            rows.update(choice=number, score=score, test_is_left=is_left, judged_at=NOW)

    @pytest.mark.postgres
    @pytest.mark.django_db
    def test_it_is_no_answer(self, scale, number):
        trial = trial_of(scale)
        about = {"batch_id": trial.batch_id, "person": trial.person, "position": trial.position, "now": timezone.now()}
        with pytest.raises(judging.NotOnScaleError) as refused:
            judging.judge(**about, choice=number)
        assert refused.value.choices == scale.numbers

    def test_a_file_that_names_the_scale_is_refused(self, scale, number, tmp_path):
        file = tmp_path / "judgements.csv"
        file.write_text(f"image,rater,score,scale\na.jpg,ann,0,{scale.points}\nb.jpg,ann,{number},{scale.points}\n")
        with pytest.raises(FileProblemsError, match="line 3: score is") as refused:
            read_judgements(file)
        assert f"Give one of {', '.join(map(str, scale.numbers))}, test against base" in str(refused.value)

    def test_a_report_is_refused(self, scale, number):
        name, sides = np.array(["a.jpg"], dtype=object), np.array([1], dtype=np.int8)
        with pytest.raises(ValueError, match="Scores on this scale are"):
            CountedJudgements(name, name, np.array([number]), sides, np.array([1.0]), scale)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
@pytest.mark.parametrize("scale", SCALES.values(), ids=named)
def test_the_page_offers_each_level_with_its_key_and_keeps_it(scale, client: Client):
    trial = trial_of(scale)
    client.force_login(trial.person)
    page = client.get(reverse("sxs_eval:batch-show", args=[trial.batch_id])).content.decode()
    assert page.count('name="choice"') == scale.points
    for key, level in scale.keys.items():
        assert re.search(rf'data-key="{key}"\s+name="choice" value="{level.number}"', page)
    for number in scale.numbers:
        post_answer(client, trial, number)
        trial.refresh_from_db()
        assert (trial.choice, trial.scale) == (number, scale.points)
        judging.undo(batch_id=trial.batch_id, person=trial.person, position=trial.position, now=timezone.now())


@pytest.mark.parametrize("scale", SCALES.values(), ids=named)
def test_a_file_has_a_level_as_a_number_and_by_its_name(scale, tmp_path):
    file = tmp_path / "judgements.csv"
    for number in scale.numbers:
        for written in (number, scale[number].name):
            file.write_text(f"image,rater,score,scale\na.jpg,ann,{written},{scale.points}\n")
            (comparison,) = read_judgements(file).comparisons
            assert (comparison.judged.score.tolist(), comparison.judged.scale) == ([number], scale)


def test_a_comparison_in_a_file_has_one_scale_and_a_known_one(tmp_path):
    file = tmp_path / "judgements.csv"
    file.write_text("image,rater,score,scale\na.jpg,ann,2,7\nb.jpg,ann,2,5\nc.jpg,ann,2,six\n")
    with pytest.raises(FileProblemsError) as refused:
        read_judgements(file)
    assert "line 3: base_model, test_model, scale or design differs from line 2" in str(refused.value)
    assert f"line 4: scale is “six”. Give one of: {', '.join(map(str, SCALES))}." in str(refused.value)


def test_scales_are_kept_under_their_points():
    assert all(scale.points == points <= MAX_LEVELS for points, scale in SCALES.items())


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ([1, 1, 0, -1], "must go down"),
        ([-1, 0, 1], "must go down"),
        ([2, 1, 0, -1], "needs its opposite"),
        (range(5, -6, -1), "has 11 levels, but keys for 9"),
    ],
)
def test_a_scale_that_cannot_be_answered_is_refused(numbers, problem):
    with pytest.raises(ValueError, match=problem):
        Scale("points", tuple(level(number) for number in numbers))
