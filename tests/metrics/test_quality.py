"""The median of three ratings for every combination, shares with their intervals, and raters against the others."""

from __future__ import annotations

from itertools import product

import krippendorff
import numpy as np
import pytest
import scipy

from crosslens_metrics.quality import (
    CODES,
    LEVELS,
    NOT_ENOUGH_INFO,
    CaptionShare,
    QualityCounts,
    confusions,
    median_rating,
    medians,
    medians_of_others,
    ordinal_alpha,
    quality_of,
)
from crosslens_metrics.sampling.intervals import wilson_interval
from crosslens_metrics.undefined import UndefinedReason
from tools.coverage.simulations import MeasuredCoverage

N, B, M, G, E = range(5)
# Every combination of three, whatever their order, and what it comes to: worked out by hand from PROTOCOLS.md.
OF_THREE = {
    (N, N, N): N, (N, N, B): N, (N, N, M): N, (N, N, G): N, (N, N, E): N,
    (N, B, B): B, (N, B, M): B, (N, B, G): B, (N, B, E): B,
    (N, M, M): M, (N, M, G): M, (N, M, E): M,
    (N, G, G): G, (N, G, E): G,
    (N, E, E): E,
    (B, B, B): B, (B, B, M): B, (B, B, G): B, (B, B, E): B,
    (B, M, M): M, (B, M, G): M, (B, M, E): M,
    (B, G, G): G, (B, G, E): G,
    (B, E, E): E,
    (M, M, M): M, (M, M, G): M, (M, M, E): M,
    (M, G, G): G, (M, G, E): G,
    (M, E, E): E,
    (G, G, G): G, (G, G, E): G,
    (G, E, E): E,
    (E, E, E): E,
}  # fmt: skip


def test_the_levels_are_those_of_the_protocol_from_the_lowest():
    assert LEVELS == ("NOT-ENOUGH-INFO", "BAD", "MEDIUM", "GOOD", "EXCELLENT")
    assert [CODES[level] for level in LEVELS] == [N, B, M, G, E]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("three", list(product(range(5), repeat=3)))
def test_the_median_of_three_is_as_specified_in_whatever_order_they_come(three):
    assert median_rating(three) == OF_THREE[tuple(sorted(three))]


def test_all_combinations_of_three_stand_in_the_table():
    assert set(OF_THREE) == {tuple(sorted(three)) for three in product(range(5), repeat=3)}


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [([G], G), ([N], N), ([N, E], E), ([M, E], M), ([N, N, B, E], B), ([N, N, N, E], N), ([B, M, G, E, E], G)],
)
def test_other_numbers_of_ratings_follow_the_same_rule(ratings, expected):
    assert median_rating(ratings) == expected


def test_many_captions_at_once_come_out_as_one_by_one():
    rng = np.random.default_rng(3)
    captions = rng.integers(0, 400, size=3000)
    ratings = rng.integers(0, 5, size=3000)

    rated, together = medians(captions, ratings)

    assert rated.tolist() == sorted(set(captions.tolist()))
    for caption, median in zip(rated, together, strict=True):
        assert median == median_rating(ratings[captions == caption].tolist())


def test_captions_that_nothing_could_be_said_of_are_in_the_denominator():
    captions = np.repeat(np.arange(5), 3)
    ratings = [N, N, E, B, B, E, M, M, E, N, G, E, E, E, B]

    quality = quality_of(captions, ratings)

    assert quality == QualityCounts((1, 1, 1, 1, 1))
    shares = (quality.good_or_better, quality.medium_or_better, quality.bad, quality.not_enough_info)
    assert [(share.count, share.of) for share in shares] == [(2, 5), (3, 5), (1, 5), (1, 5)]
    assert [share.value for share in shares] == [0.4, 0.6, 0.2, 0.2]


def test_without_captions_of_which_nothing_could_be_said_authors_of_only_such_ones_are_left_out_too():
    quality = quality_of(range(5), [N, G, B, G, G], [5, 6, 6, 7, 7])

    judged = quality.judged.good_or_better

    assert (judged.count, judged.of, judged.by_author) == (3, 4, ((1, 2), (2, 2)))
    assert quality_of([1], [N]).judged.good_or_better.value is None


def test_nothing_rated_has_no_share_and_no_interval():
    quality = quality_of([], [])

    assert quality.captions == 0
    assert quality.bad.value is None
    assert quality.bad.interval is None


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (1, 1), (0, 600), (600, 600), (577, 600), (3, 7), (299, 600)]
)
def test_the_interval_is_wilsons(successes, trials):
    expected = scipy.stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")

    interval = wilson_interval(successes, trials)

    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (-1, 3), (4, 3)])
def test_what_is_no_share_has_no_interval(successes, trials):
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(successes, trials)


def test_each_rater_stands_against_the_median_of_the_others():
    captions = [1, 1, 1, 2, 2, 2, 3]
    raters = [7, 8, 9, 9, 7, 11, 7]
    ratings = [G, G, B, N, E, M, G]  # the others come to BAD, BAD, GOOD; MEDIUM, MEDIUM, EXCELLENT; to nothing

    by_rater = confusions(captions, raters, ratings)

    said = {rater: [tuple(cell) for cell in np.argwhere(table).tolist()] for rater, table in by_rater.items()}
    assert said == {7: [(G, B), (E, M)], 8: [(G, B)], 9: [(N, M), (B, G)], 11: [(M, E)]}
    assert confusions([1], [7], [G])[7].sum() == 0, "Nobody else rated it."


def test_the_median_of_others_is_that_without_the_rating():
    rng = np.random.default_rng(4)
    captions, ratings = rng.integers(0, 200, size=600), rng.integers(0, 5, size=600)

    others = medians_of_others(captions, ratings)

    for place, median in enumerate(others.tolist()):
        rest = np.delete(ratings, place)[np.delete(captions, place) == captions[place]]
        assert median == (median_rating(rest.tolist()) if len(rest) else -1)


def test_raters_who_answer_at_random_agree_with_the_others_by_chance_and_with_themselves_more():
    captions = np.repeat(np.arange(4_000), 3)
    ratings = np.random.default_rng(6).integers(1, 5, size=len(captions))  # on four levels

    assert (medians_of_others(captions, ratings) == ratings).mean() == pytest.approx(0.25, abs=0.015)
    assert (np.repeat(medians(captions, ratings)[1], 3) == ratings).mean() > 0.5


def test_a_share_has_an_interval_over_authors_beside_wilsons():
    # Of three authors 4 of 4, 3 of 4 and 1 of 4 captions are good.
    levels = [G] * 4 + [G] * 3 + [B] + [E] + [B] * 3

    quality = quality_of(range(12), levels, np.repeat([5, 6, 7], 4))

    assert quality.by_author == ((0, 0, 0, 4, 0), (0, 1, 0, 3, 0), (0, 3, 0, 0, 1))
    good = quality.good_or_better
    # Student's t of the three shares, by hand: 8/12, the standard error 0.2205, and t = 4.303 with two degrees.
    reach = 4.303 * 0.2205 / (8 / 12 * 4 / 12)
    assert good.interval == wilson_interval(8, 12)
    assert bounds_over_authors(good) == pytest.approx(scipy.special.expit([np.log(2) - reach, np.log(2) + reach]), 1e-3)
    assert bounds_over_authors(quality.not_enough_info) == pytest.approx([0, 1 - 0.025 ** (1 / 3)])


def bounds_over_authors(share):
    return [share.over_authors.low, share.over_authors.high]


def test_one_author_or_an_unknown_one_shows_nothing_of_how_authors_differ():
    assert quality_of([1, 2], [G, B], [5, 5]).bad.over_authors is UndefinedReason.ONE_AUTHOR
    assert quality_of([1, 2], [G, B]).bad.over_authors is UndefinedReason.NO_AUTHORS
    assert quality_of([1, 2, 3, 4], [G, B, G, B], [5, 5, 6, 6]).bad.over_authors is UndefinedReason.NO_VARIATION
    assert quality_of([], [], []).bad.over_authors is None


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("authors", [2, 3, 5, 10, 20])
def test_the_interval_over_authors_holds_the_truth_where_wilsons_does_not(authors):
    rng, truth, alike = np.random.default_rng([2, authors]), 0.8, 0.1
    held, held_by_wilsons = [], []
    for _ in range(1_000):
        captions = rng.integers(30, 91, size=authors)
        good = rng.binomial(captions, rng.beta(truth * (1 / alike - 1), (1 - truth) * (1 / alike - 1), size=authors))
        share = CaptionShare(
            int(good.sum()), int(captions.sum()), tuple(zip(good.tolist(), captions.tolist(), strict=True))
        )
        interval = share.over_authors
        held.append(not isinstance(interval, UndefinedReason) and interval.holds(truth))
        held_by_wilsons.append(share.interval.holds(truth))
    assert not MeasuredCoverage.of(held).is_too_low
    assert MeasuredCoverage.of(held_by_wilsons).is_too_low


def test_alpha_is_of_the_scale_and_leaves_out_what_has_no_place_on_it():
    table = np.random.default_rng(5).integers(0, 5, size=(3, 40)).astype(float)
    table[1:, :25] = table[0, :25]  # so that they agree somewhat
    captions, ratings = np.tile(np.arange(40), 3), table.astype(int).ravel()
    table[table == NOT_ENOUGH_INFO] = np.nan
    by_package = krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")

    alpha = ordinal_alpha(captions, ratings)

    assert 0.4 < by_package < 0.9
    assert np.isnan(table).any()
    assert alpha == pytest.approx(by_package)


@pytest.mark.parametrize(
    ("captions", "ratings", "reason"),
    [
        ([], [], UndefinedReason.NO_PAIR_OF_RATINGS),
        ([1, 1, 2], [G, N, B], UndefinedReason.NO_PAIR_OF_RATINGS),
        ([1, 1, 2, 2], [G, G, G, G], UndefinedReason.ALL_RATINGS_EQUAL),
    ],
)
def test_where_there_is_no_alpha_it_is_said_why(captions, ratings, reason):
    assert ordinal_alpha(captions, ratings) is reason


@pytest.mark.parametrize(("captions", "ratings"), [([1, 2], [G]), ([1], [5]), ([1], [-1]), ([[1]], [[1]])])
def test_what_are_no_ratings_is_refused(captions, ratings):
    with pytest.raises(ValueError, match=r"needed|place in LEVELS"):
        medians(captions, ratings)
