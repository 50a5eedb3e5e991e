"""The order of a batch, the scales, and who is paused: decisions from values alone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.scales import FIVE_POINTS, SEVEN_POINTS
from sxs_eval.rules import judging as rules


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


def test_captions_are_equal_whatever_their_form_of_unicode_and_white_space():
    assert rules.are_equal("Ein  Käse ", "Ein Ka\u0308se")
    assert not rules.are_equal("Ein Hund", "ein Hund")


def test_the_shorter_scale_lacks_the_slight_levels_only():
    assert set(SEVEN_POINTS.numbers) - set(FIVE_POINTS.numbers) == {1, -1}
    assert [level.name for level in FIVE_POINTS.levels] == ["MUCH-BETTER", "BETTER", "SIMILAR", "WORSE", "MUCH-WORSE"]
