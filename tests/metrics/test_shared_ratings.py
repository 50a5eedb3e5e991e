"""Agreement on what several people rated, against pairs counted by hand and another implementation of alpha."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.quality import BAD, EXCELLENT, GOOD, LEVELS, MEDIUM, NOT_ENOUGH_INFO
from crosslens_metrics.shared_ratings import agreement, agreement_of_each
from crosslens_metrics.undefined import UndefinedReason

ROWS = st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 3)), st.integers(0, len(LEVELS) - 1))


def columns(rows):
    things, raters, ratings = [], [], []
    for (thing, rater), rating in rows.items():
        things.append(thing)
        raters.append(rater)
        ratings.append(rating)
    return things, raters, ratings


def pairs_by_hand(rows, *, of=None):
    by_thing: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for (thing, rater), rating in rows.items():
        by_thing[thing][rater] = rating
    pairs = [
        (found[one], found[other])
        for found in by_thing.values()
        for one, other in combinations(found, 2)
        if of is None or of in (one, other)
    ]
    return len(pairs), sum(one == other for one, other in pairs)


class TestAgreementOfAll:
    @given(ROWS)
    def test_pairs_are_those_counted_by_hand(self, rows):
        things, _, ratings = columns(rows)
        agreed = agreement(things, ratings)
        assert (agreed.pairs, agreed.same) == pairs_by_hand(rows)

    def test_two_who_always_agree_have_all_of_it(self):
        agreed = agreement([1, 1, 2, 2], [GOOD, GOOD, BAD, BAD])
        assert (agreed.things, agreed.exact, agreed.alpha) == (2, 1.0, 1.0)

    def test_alpha_is_the_ordinal_one_without_those_of_which_nothing_can_be_said(self):
        rng = np.random.default_rng(1)
        first = rng.integers(0, 5, 60)
        second = np.clip(first + rng.integers(-1, 2, 60), 0, 4)
        agreed = agreement([*range(60), *range(60)], [*first, *second])
        table = np.array([first, second], dtype=float)
        table[table == NOT_ENOUGH_INFO] = np.nan
        expected = krippendorff.alpha(table, level_of_measurement="ordinal")
        assert agreed.alpha == pytest.approx(expected)

    def test_near_levels_agree_more_than_far_ones(self):
        things = [1, 1, 2, 2, 3, 3]
        near = agreement(things, [GOOD, EXCELLENT, BAD, MEDIUM, BAD, BAD])
        far = agreement(things, [BAD, EXCELLENT, BAD, EXCELLENT, BAD, BAD])
        assert near.exact == far.exact
        assert float(near.alpha) > float(far.alpha)

    def test_where_nobody_shares_anything_there_is_none_of_it_and_why(self):
        agreed = agreement([1, 2], [GOOD, BAD])
        assert (agreed.things, agreed.pairs, agreed.exact, agreed.alpha) == (
            0,
            0,
            None,
            UndefinedReason.NO_PAIR_OF_RATINGS,
        )

    def test_nothing_at_all_is_no_mistake(self):
        assert agreement([], []).exact is None
        assert agreement_of_each([], [], []) == {}


class TestAgreementOfEach:
    @given(ROWS)
    def test_pairs_are_those_that_a_person_is_in(self, rows):
        by_person = agreement_of_each(*columns(rows))
        assert set(by_person) == {rater for _, rater in rows}
        for rater, one in by_person.items():
            assert (one.pairs, one.same) == pairs_by_hand(rows, of=rater)

    def test_of_two_who_share_everything_each_has_the_figures_of_both(self):
        things, raters, ratings = [1, 1, 2, 2], [7, 8, 7, 8], [GOOD, GOOD, GOOD, BAD]
        together = agreement(things, ratings)
        assert agreement_of_each(things, raters, ratings) == {7: together, 8: together}

    def test_who_rates_at_random_is_told_from_those_who_agree(self):
        rng = np.random.default_rng(2)
        true = rng.integers(1, 5, 100)
        rows = {(thing, rater): true[thing] for thing in range(100) for rater in (1, 2)}
        rows |= {(thing, 3): rng.integers(1, 5) for thing in range(100)}
        by_person = agreement_of_each(*columns(rows))
        assert by_person[3].exact < 0.4 < 0.55 < by_person[1].exact == pytest.approx(by_person[2].exact)
