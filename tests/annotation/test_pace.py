"""How quickly work goes on, and when it would be done."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.rules import estimates as rules
from annotation.rules.estimates import MAX_DAYS_AHEAD, WINDOW_DAYS, WorkPace

TODAY = date(2026, 3, 9)


def days(**ago: int) -> dict[str, int]:
    """`d3=5`: five, three days ago."""
    return {(TODAY - timedelta(days=int(name[1:]))).isoformat(): count for name, count in ago.items()}


def pace(days: dict[str, int], *, today: date) -> WorkPace:
    return rules.pace(days, total=sum(days.values()), today=today)


def test_the_mean_is_of_the_last_seven_days_with_today_among_them():
    measured = pace(days(d0=7, d6=7, d7=100, d30=100), today=TODAY)
    assert (measured.done, measured.days, measured.per_day) == (14, 7, 2.0)


def test_where_work_began_later_it_is_of_the_days_since():
    assert pace(days(d1=6), today=TODAY).per_day == 3.0
    assert pace(days(d0=6), today=TODAY).per_day == 6.0


def test_a_day_on_which_nothing_was_done_counts_as_one():
    assert pace(days(d6=7), today=TODAY).per_day == 1.0


def test_without_any_work_there_is_no_end():
    measured = pace({}, today=TODAY)
    assert measured.per_day == 0
    assert measured.ends_on(5, today=TODAY) is None
    assert pace(days(d9=5), today=TODAY).ends_on(5, today=TODAY) is None


@pytest.mark.parametrize(("left", "ahead"), [(1, 1), (2, 1), (3, 2), (14, 7)])
def test_the_end_is_the_day_on_which_the_last_one_is_done(left, ahead):
    assert pace(days(d1=14, d8=1), today=TODAY).ends_on(left, today=TODAY) == TODAY + timedelta(days=ahead)


def test_nothing_left_has_no_end_and_an_end_far_beyond_a_life_is_none():
    measured = pace(days(d0=1, d9=1), today=TODAY)
    assert measured.ends_on(0, today=TODAY) is None
    assert measured.ends_on(MAX_DAYS_AHEAD, today=TODAY) is None


@pytest.mark.long(reason="at least three others run each of its lines")
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.integers(0, 20), st.integers(1, 50)), st.integers(1, 500))
def test_at_the_pace_the_rest_is_done_by_the_end_and_not_a_day_before(counts, left):
    measured = pace({(TODAY - timedelta(days=ago)).isoformat(): count for ago, count in counts.items()}, today=TODAY)
    end = measured.ends_on(left, today=TODAY)
    if end is not None:
        ahead = (end - TODAY).days
        assert ahead * measured.done >= left * measured.days > (ahead - 1) * measured.done


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.integers(0, 20), st.integers(1, 50)))
def test_days_before_the_window_need_not_be_given(counts):
    everything = {(TODAY - timedelta(days=ago)).isoformat(): count for ago, count in counts.items()}
    recent = {(TODAY - timedelta(days=ago)).isoformat(): count for ago, count in counts.items() if ago < WINDOW_DAYS}
    began = min(WINDOW_DAYS, max(counts, default=0) + 1)
    expected = WorkPace(sum(recent.values()), began)
    assert pace(everything, today=TODAY) == expected
    assert rules.pace(recent, total=sum(everything.values()), today=TODAY) == expected
