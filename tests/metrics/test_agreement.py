"""Agreement of raters: Krippendorff's alpha, the kappas, and what is rated by several."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.agreement import (
    alpha_interval,
    alpha_of_ratings,
    alpha_with_other_raters,
    krippendorff_alpha,
)
from crosslens_metrics.kappa import cohen_kappa, fleiss_kappa
from crosslens_metrics.quality import BAD, EXCELLENT, GOOD, LEVELS, MEDIUM, NOT_ENOUGH_INFO
from crosslens_metrics.shared_ratings import agreement, agreement_of_each
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from tests.memory import peak_of

NONE = np.nan
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)
"""Four observers and twelve units: Krippendorff (2011), section C."""


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example_gives_the_published_alpha(level, published):
    assert krippendorff_alpha(PUBLISHED, level=level) == pytest.approx(published, abs=0.0005)


def test_ordinal_alpha_only_looks_at_the_order_of_the_values():
    recoded = np.exp(PUBLISHED) - 7

    ordinal = [krippendorff_alpha(table, level="ordinal") for table in (PUBLISHED, recoded)]
    interval = [krippendorff_alpha(table, level="interval") for table in (PUBLISHED, recoded)]

    assert ordinal[0] == pytest.approx(ordinal[1])
    assert interval[0] != pytest.approx(interval[1], abs=0.01)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_does_not_ask_who_rated_nor_in_which_order(level):
    rng = np.random.default_rng(4)
    shuffled = rng.permutation(rng.permutation(PUBLISHED, axis=0), axis=1)
    swapped_within_units = rng.permuted(PUBLISHED, axis=0)

    alpha = krippendorff_alpha(PUBLISHED, level=level)

    assert krippendorff_alpha(shuffled, level=level) == pytest.approx(alpha)
    assert krippendorff_alpha(swapped_within_units, level=level) == pytest.approx(alpha)


def test_units_with_one_rating_change_nothing():
    alone = np.full((4, 3), NONE)
    alone[1] = [1, 4, 5]

    with_them = krippendorff_alpha(np.hstack([PUBLISHED, alone]), level="ordinal")

    assert with_them == pytest.approx(krippendorff_alpha(PUBLISHED, level="ordinal"))


def test_full_agreement_is_one_and_disagreement_throughout_is_below_zero():
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level="ordinal") == 1
    assert krippendorff_alpha([[1, 2, 1, 2], [2, 1, 2, 1]], level="nominal") < -0.5


def test_alpha_of_ratings_at_random_is_near_zero():
    values = np.random.default_rng(0).integers(-3, 4, size=60_000)
    assert alpha_of_ratings(np.repeat(np.arange(20_000), 3), values, level="ordinal") == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, NONE], [NONE, 2]], UndefinedReason.NO_PAIR_OF_RATINGS),
        (np.full((3, 4), NONE), UndefinedReason.NO_PAIR_OF_RATINGS),
        (np.empty((0, 0)), UndefinedReason.NO_PAIR_OF_RATINGS),
        ([[0, 0, 5], [0, 0, NONE]], UndefinedReason.ALL_RATINGS_EQUAL),
    ],
)
def test_where_alpha_is_undefined_the_error_says_why(ratings, reason):
    for level in ("nominal", "ordinal", "interval"):
        with pytest.raises(UndefinedFigureError) as refused:
            krippendorff_alpha(ratings, level=level)
        assert refused.value.reason == reason


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_interval_equals_that_of_drawing_the_units_one_by_one():
    """Drawn by kinds or one by one, the distribution is the same, so the bounds agree to their own noise."""
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(80), 3)
    values = np.repeat(rng.integers(-3, 4, size=80), 3) + rng.integers(-1, 2, size=240)
    table = values.reshape(80, 3).T

    interval = alpha_interval(units, values, level="ordinal", resamples=10_000, rng=rng)
    one_by_one = [krippendorff_alpha(table[:, rng.integers(0, 80, size=80)], level="ordinal") for _ in range(1_000)]

    assert [interval.low, interval.high] == pytest.approx(list(np.quantile(one_by_one, [0.025, 0.975])), abs=0.015)
    assert interval.holds(alpha_of_ratings(units, values, level="ordinal"))


@pytest.mark.parametrize(
    ("units", "reason"),
    [([0, 0, 1, 1], UndefinedReason.RESAMPLES_UNDEFINED), ([0, 0, 0, 0], UndefinedReason.NO_VARIATION)],
)
def test_an_interval_of_too_few_units_is_undefined_rather_than_made_up(units, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        alpha_interval(units, [1, 1, 1, 2], level="ordinal", resamples=200, rng=np.random.default_rng(0))
    assert refused.value.reason == reason


def alpha_by_definition(ratings: np.ndarray, level: str) -> float:
    """Krippendorff (2011), section E, pair by pair."""
    given = [unit[~np.isnan(unit)] for unit in ratings.T]
    given = [unit for unit in given if len(unit) > 1]
    pool = np.sort(np.concatenate(given))

    def distance(one: float, other: float) -> float:
        if level == "nominal":
            return float(one != other)
        if level == "interval":
            return (one - other) ** 2
        low, high = min(one, other), max(one, other)
        between = ((pool >= low) & (pool <= high)).sum() - ((pool == low).sum() + (pool == high).sum()) / 2
        return float(between**2) if low != high else 0.0

    observed = sum(
        distance(one, other) / (len(unit) - 1) for unit in given for one, other in permutations(unit.tolist(), 2)
    ) / len(pool)
    expected = sum(distance(one, other) for one, other in permutations(pool.tolist(), 2))
    return 1 - observed / (expected / (len(pool) * (len(pool) - 1)))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("levels", [2, 7, 101])
def test_alpha_is_what_the_definition_says_pair_by_pair(level, levels):
    rng = np.random.default_rng(levels)
    ratings = rng.integers(0, levels, size=(4, 15)) + rng.integers(0, 2, size=15)[None, :] * 1.5
    ratings[rng.random(ratings.shape) < 0.3] = NONE

    assert krippendorff_alpha(ratings, level=level) == pytest.approx(alpha_by_definition(ratings, level), abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("levels", [2, 5, 40])
def test_alpha_is_that_of_the_public_implementation(level, levels):
    rng = np.random.default_rng(levels)
    truth = rng.integers(0, levels, size=300)
    ratings = np.clip(truth + rng.integers(-2, 3, size=(5, 300)), 0, levels - 1).astype(float)
    ratings[rng.random(ratings.shape) < 0.4] = NONE

    theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_large_values_lose_no_digits(level):
    assert krippendorff_alpha(PUBLISHED + 1e8, level=level) == pytest.approx(
        krippendorff_alpha(PUBLISHED, level=level), abs=1e-9
    )


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda: krippendorff_alpha([[1.0, 2.0, np.inf], [1.0, 2.0, 3.0]], level="interval"), "not finite"),
        (lambda: krippendorff_alpha([[1.0, 2.0], [1.0, 3.0]], level="ratio"), "interval, not 'ratio'"),  # type: ignore[arg-type]
        (lambda: krippendorff_alpha([1.0, 2.0], level="nominal"), "raters by units"),
        (lambda: alpha_of_ratings([1, 1, 2], [1.0, 2.0], level="nominal"), "A unit for each rating"),
    ],
)
def test_what_is_no_table_of_ratings_on_a_known_scale_is_refused(figure, message):
    with pytest.raises(ValueError, match=message):
        figure()


@pytest.mark.long(reason="300,000 ratings, whose memory is measured")
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_hundred_thousand_units_on_a_scale_of_101_levels_take_little_memory(level):
    rng = np.random.default_rng(0)
    units = np.tile(np.arange(100_000), 3)
    values = rng.integers(0, 101, size=300_000)
    alpha, peak = peak_of(lambda: alpha_of_ratings(units, values, level=level))
    assert alpha == pytest.approx(0, abs=0.02)
    assert peak < 100e6


COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
"""200 units by two judges into three categories: Cohen (1960)."""

DIAGNOSES = [
    *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0]),
    *([0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0]),
    *([0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0]),
    *([0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0]),
    *([1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
]
"""30 patients by six psychiatrists each into five categories: Fleiss (1971), table 1."""

FOURTEEN_RATERS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
"""The example that is used most: ten units, kappa 0.210."""


def listed(table):
    cells = [(row, column) for row, line in enumerate(table) for column, times in enumerate(line) for _ in range(times)]
    return np.array(cells).T


def test_cohens_example_gives_the_published_kappa():
    assert cohen_kappa(*listed(COHEN)) == pytest.approx(0.492, abs=0.0005)


@pytest.mark.parametrize(("table", "published"), [(DIAGNOSES, 0.430), (FOURTEEN_RATERS, 0.210)])
def test_published_examples_give_fleiss_kappa(table, published):
    assert fleiss_kappa(table) == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_is_what_the_definition_says_pair_by_pair(weights):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, size=60)
    second = np.clip(first + rng.integers(-1, 3, size=60), 0, 4)

    def cost(one, other):
        return {"none": float(one != other), "linear": abs(one - other), "quadratic": (one - other) ** 2}[weights]

    observed = np.mean([cost(one, other) for one, other in zip(first, second, strict=True)])
    by_chance = np.mean([cost(one, other) for one in first for other in second])
    assert cohen_kappa(first, second, weights=weights, scale=range(5)) == pytest.approx(1 - observed / by_chance)


def test_quadratic_weights_make_it_a_correlation_that_minds_the_means():
    """Krippendorff (1970): 2 cov / (var + var + (difference of means)²)."""
    rng = np.random.default_rng(8)
    first = rng.integers(0, 7, size=200)
    second = np.clip(first + rng.integers(-2, 4, size=200), 0, 6)
    moments = np.cov(first, second, bias=True)

    expected = 2 * moments[0, 1] / (moments.trace() + (first.mean() - second.mean()) ** 2)
    assert cohen_kappa(first, second, weights="quadratic", scale=range(7)) == pytest.approx(expected)


def test_names_do_not_matter_nor_who_is_first():
    first, second = listed(COHEN)
    words = np.array(["yes", "no", "perhaps"])

    assert cohen_kappa(words[first], words[second]) == pytest.approx(cohen_kappa(first, second))
    for weights in ("none", "linear", "quadratic"):
        assert cohen_kappa(first, second, weights=weights) == cohen_kappa(second, first, weights=weights)


def test_with_two_levels_weights_change_nothing():
    first, second = [0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0]
    assert len({cohen_kappa(first, second, weights=weights) for weights in ("none", "linear", "quadratic")}) == 1


def test_a_level_that_nobody_chose_is_a_step_where_the_scale_names_it():
    first, second = ["low", "low", "mid", "high"], ["low", "mid", "mid", "high"]
    scale = ["low", "mid", "upper", "high"]

    kappas = [cohen_kappa(first, second, weights="linear", scale=levels) for levels in (scale, ["low", "mid", "high"])]

    assert kappas[0] != pytest.approx(kappas[1], abs=0.01)
    assert cohen_kappa(first, second, scale=scale) == pytest.approx(cohen_kappa(first, second))


def test_full_agreement_is_one_and_full_disagreement_below_zero():
    assert cohen_kappa([1, 2, 3], [1, 2, 3]) == 1
    assert cohen_kappa([1, 2, 1, 2], [2, 1, 2, 1]) == -1
    assert fleiss_kappa([[3, 0], [0, 3]]) == 1


def test_fleiss_kappa_is_near_nominal_alpha_where_there_are_many_units():
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.integers(0, 3, size=4_000), 3)
    given = np.where(rng.random(12_000) < 0.4, rng.integers(0, 3, size=12_000), truth)
    units = np.repeat(np.arange(4_000), 3)
    counts = np.bincount(units * 3 + given, minlength=12_000).reshape(4_000, 3)

    assert fleiss_kappa(counts) == pytest.approx(alpha_of_ratings(units, given, level="nominal"), abs=0.001)


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (lambda: cohen_kappa([], []), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: cohen_kappa([1, 1], [1, 1]), UndefinedReason.ALL_RATINGS_EQUAL),
        (lambda: fleiss_kappa(np.zeros((0, 3))), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: fleiss_kappa([[1, 0], [0, 1]]), UndefinedReason.NO_PAIR_OF_RATINGS),
        (lambda: fleiss_kappa([[3, 0], [3, 0]]), UndefinedReason.ALL_RATINGS_EQUAL),
    ],
)
def test_where_kappa_is_undefined_the_error_says_why(figure, reason):
    with pytest.raises(UndefinedFigureError) as refused:
        figure()
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "equally many"),
        (lambda: cohen_kappa([1.0, np.nan], [1.0, 2.0]), "missing"),
        (lambda: cohen_kappa(["a", None], ["a", "b"]), "missing"),
        (lambda: cohen_kappa([1, 9], [1, 2], scale=[1, 2, 3]), "9 is not on the scale"),
        (lambda: cohen_kappa([1, 2], [1, 2], scale=[1, 2, 2]), "twice"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "cubic"),  # type: ignore[arg-type]
        (lambda: fleiss_kappa([[3, 0], [1, 1]]), "Unit 1 has 2 ratings"),
        (lambda: fleiss_kappa([[3, 0], [4, -1]]), "whole number"),
        (lambda: fleiss_kappa([[1.5, 0.5], [1.0, 1.0]]), "whole number"),
        (lambda: fleiss_kappa([[1.0, np.nan]]), "whole number"),
        (lambda: fleiss_kappa([1, 2]), "table"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(figure, message):
    with pytest.raises(ValueError, match=message):
        figure()


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


@pytest.mark.parametrize(("raters", "low"), [(3, 0.0), (10, (2 * 0.025**0.1 - 1) ** 2)])
@pytest.mark.parametrize("slips", [0, 1])
def test_raters_who_all_but_always_agree_do_not_show_that_others_do(raters, low, slips):
    values = np.repeat([[1], [-1]], [75, 25], axis=0).repeat(raters, axis=1)
    values[:slips, 0] = 0
    names = np.tile(np.arange(raters), 100)
    interval = alpha_with_other_raters(np.arange(100).repeat(raters), names, values.ravel(), level="ordinal")
    assert interval.low == pytest.approx(low, abs=0.01)
    assert interval.high == pytest.approx(1, abs=0.001)
