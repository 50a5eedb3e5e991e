"""What a plan says of its power, and hours and pay by mean times."""

from __future__ import annotations

from decimal import Decimal

import pytest

from core.people.selectors import rates
from crosslens_metrics.power import MIN_JUDGEMENTS, MeasuredSpread
from sxs_eval.rules.pace import JudgingPace, RaterTimes, pace_of
from sxs_eval.rules.planning import PlanCost
from sxs_eval.selectors.planning import pay_of, spread_of
from tests.factories import make_comparison, make_rater
from tests.sxs_eval.judged import judge_all, keys_of, text_of
from tests.sxs_eval.planning import form_of, page_of

THREE = [RaterTimes(100, 1000.0, 12_000.0), RaterTimes(100, 1500.0, 27_000.0), RaterTimes(200, 5000.0, 150_000.0)]


def test_the_pace_is_the_mean_with_its_error_over_raters():
    pace = pace_of(THREE)

    assert (pace.seconds, pace.judgements, pace.raters) == (7500 / 400, 400, 3)
    assert pace.deviation == pytest.approx(((189_000 - 400 * 18.75**2) / 399) ** 0.5)
    # The raters are 875, 375 and −1250 seconds off what the mean would have them take.
    assert pace.error == pytest.approx(((875**2 + 375**2 + 1250**2) / 400**2 * 3 / 2) ** 0.5)
    assert pace.quantile == pytest.approx(4.3027, abs=1e-4)
    half = 4.3027 * (1800 * pace.deviation**2 + (1800 * pace.error) ** 2) ** 0.5 / 3600
    assert pace.within_hours(1800) == pytest.approx(half, rel=1e-4)


def test_skewed_times_cost_their_mean_and_one_rater_gives_no_error():
    pace = pace_of([RaterTimes(40, 30 * 10.0 + 10 * 60.0, 30 * 100.0 + 10 * 3600.0)])
    assert pace.seconds == 22.5
    assert pace.within_hours(100) is None
    assert pace_of([RaterTimes(19, 999.0, 99_999.0)]) == JudgingPace(20.0)
    assert JudgingPace(20.0).within_hours(100) is None


@pytest.mark.django_db
@pytest.mark.usefixtures("models")
class TestPage:
    def test_it_says_what_the_design_sees_and_that_no_gain_is_known(self, manager, project, collection):
        page = manager.post(page_of(project), form_of(collection, raters="3", replication="3"))
        text, design = text_of(page), page.context["design"]

        assert "Power. Images: 3. Judgements of each: 3. Raters: 3." in text
        assert [seen.points for seen in design["power"].rows] == [3.0, 5.0, 8.0]
        assert "Smallest gain seen with 80% power, with these raters: none up to 60 points." in text
        assert text.count("unknown until judged") == 2
        assert "They are assumed until a comparison has 300 judgements by 5 raters." in text
        assert [design.replication for design, _ in design["trade"].rows] == [1, 2, 3]
        assert "With other raters like them" in text

    def test_fewer_raters_than_judge_each_pair_are_refused(self, manager, project, collection):
        page = manager.post(page_of(project), form_of(collection, raters="2"))
        assert page.status_code == 422
        assert "at least as many raters as judge each pair" in page.content.decode()

    def test_pay_is_that_of_the_hours_where_the_project_has_a_rate(self, manager, project, collection, monkeypatch):
        monkeypatch.setattr(rates, "_rate_of", [lambda project: (Decimal("18.00"), "EUR")])
        assert pay_of(project, PlanCost(seconds=5000)).cost == Decimal("25.00")
        # 22 judgements and attention items of 20 seconds.
        text = text_of(manager.post(page_of(project), form_of(collection)))
        assert "Pay (EUR) 2.20" in text
        monkeypatch.setattr(rates, "_rate_of", [lambda project: None])
        assert "Pay" not in text_of(manager.post(page_of(project), form_of(collection)))


@pytest.mark.django_db
def test_spreads_come_from_the_judgements_of_the_project_that_count(project):
    comparison = make_comparison(project=project, images=MIN_JUDGEMENTS // 5, replication=5, batch_size=200)
    assert spread_of(project) == MeasuredSpread()
    for rater in range(5):
        scores = {key: (place * (rater + 3)) % 5 - 2 for place, key in enumerate(keys_of(comparison))}
        judge_all(comparison, make_rater(comparison), scores, seed=rater)
    found = spread_of(project)
    assert (found.judgements, found.raters) == (MIN_JUDGEMENTS, 5)
