"""Majorities, gains and their intervals."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy

from crosslens_metrics.gains import (
    DecidedImages,
    gain,
    gain_interval,
    pooled_gain,
    pooled_gain_interval,
    random_effects,
    with_other_raters,
)
from crosslens_metrics.images_needed import images_needed
from crosslens_metrics.majorities import majority_outcomes, moved_outcomes
from crosslens_metrics.sampling.intervals import paired_interval
from crosslens_metrics.sampling.significance import count_flips, sign_test
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("better", "worse", "ratings", "outcome"),
    [
        *((3, 0, 3, 1), (2, 1, 3, 1), (2, 0, 3, 1), (1, 0, 3, 0), (1, 1, 3, 0), (0, 0, 3, 0), (1, 2, 3, -1)),
        *((2, 2, 4, 0), (2, 0, 4, 0), (3, 1, 4, 1), (0, 1, 1, -1)),
    ],
)
def test_more_than_half_of_the_ratings_decide_an_image(better, worse, ratings, outcome):
    assert majority_outcomes([better], [worse], [ratings]).tolist() == [outcome]


def test_exchanging_the_models_turns_the_gain_around():
    assert gain(50, 20, 200) == 15.0
    assert gain(20, 50, 200) == -15.0
    there = gain_interval(50, 20, 200, resamples=20_000, rng=rng())
    back = gain_interval(20, 50, 200, resamples=20_000, rng=rng(1))
    assert [there.low, there.high] == pytest.approx([-back.high, -back.low], abs=0.6)


def test_the_interval_is_that_of_all_resamples_there_are():
    wins, losses = np.ogrid[:61, :61]
    neither = 60 - wins - losses
    logarithm = scipy.special.gammaln
    chance = logarithm(61) - logarithm(wins + 1) - logarithm(losses + 1) - logarithm(np.maximum(neither, 0) + 1)
    chance += scipy.special.xlogy(wins, 30 / 60) + scipy.special.xlogy(losses, 25 / 60)
    chance = np.where(neither < 0, 0, np.exp(chance + scipy.special.xlogy(np.maximum(neither, 0), 5 / 60)))
    points = (100 * (wins - losses) / 60).ravel()
    order = np.argsort(points)
    below = chance.ravel()[order].cumsum()

    interval = gain_interval(30, 25, 60, resamples=40_000, rng=rng())

    quantiles = [points[order][below.searchsorted(share)] for share in (0.025, 0.975)]
    assert [interval.low, interval.high] == pytest.approx(quantiles, abs=0.1)
    assert interval.design.method == "bootstrap"


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    first, again, other = (gain_interval(40, 30, 100, resamples=999, rng=rng(seed)) for seed in (5, 5, 6))
    assert first == again != other


@pytest.mark.parametrize(("wins", "losses", "images"), [(4, 0, 4), (0, 4, 4), (0, 0, 4), (1, 0, 1), (600, 0, 600)])
def test_outcomes_that_are_all_alike_give_an_exact_interval(wins, losses, images):
    assert gain(wins, losses, images) in {100, -100, 0}
    interval = gain_interval(wins, losses, images, resamples=100, rng=rng())
    assert interval == paired_interval(wins, losses, images).times(100)
    assert interval.design.words.startswith("generalises to other images (Clopper–Pearson")
    assert interval.width > (50 if images < 600 else 1.5)


@pytest.mark.parametrize(
    ("wins", "losses", "images", "method"),
    [
        *((12, 7, 20, "clopper-pearson-decided"), (3, 0, 303, "clopper-pearson-decided")),
        *((39, 0, 40, "clopper-pearson-decided"), (12, 12, 30, "clopper-pearson-decided")),
        *((20, 20, 41, "bootstrap"), (300, 20, 320, "bootstrap"), (12, 8, 303, "bootstrap")),
    ],
)
def test_with_fewer_than_20_images_beside_the_most_frequent_outcome_the_interval_is_exact(wins, losses, images, method):
    assert gain_interval(wins, losses, images, resamples=100, rng=rng()).design.method == method
    outcomes = np.repeat([1, -1, 0], [wins, losses, images - wins - losses])
    assert pooled_gain_interval(np.arange(images), outcomes, resamples=100, rng=rng()).design.method == method


def test_outcomes_of_the_same_few_images_are_worth_one_each():
    outcomes = np.array([1, 1, 1, 1, -1, 0])
    once = pooled_gain_interval(np.arange(6), outcomes, resamples=100, rng=rng())
    thrice = pooled_gain_interval(np.tile(np.arange(6), 3), np.tile(outcomes, 3), resamples=100, rng=rng())
    assert thrice.low == pytest.approx(once.low)
    assert once == gain_interval(4, 1, 6, resamples=100, rng=rng())
    # One image in ten comparisons and five in one each are worth 15² / 105 = 2.14 images.
    uneven = pooled_gain_interval([*[0] * 10, 1, 2, 3, 4, 5], np.ones(15), resamples=100, rng=rng())
    assert uneven == paired_interval(15 / 7, 0, 15 / 7).times(100)
    # Rounding may make the wins and losses together more than the whole.
    images = np.repeat([0, 1, 2], [1, 2, 6])
    for wins in range(10):
        assert pooled_gain_interval(images, np.repeat([1, -1], [wins, 9 - wins]), resamples=100, rng=rng()).width > 50


def comparisons(*counts):
    """The images and outcomes of comparisons with so many wins, losses and images, none of which is in two."""
    outcomes = [np.repeat([1, -1, 0], [wins, losses, images - wins - losses]) for wins, losses, images in counts]
    return [10_000 * place + np.arange(len(part)) for place, part in enumerate(outcomes)], outcomes


def test_the_mean_over_comparisons_is_as_uncertain_as_they_differ():
    mean, interval = random_effects(*comparisons((52, 48, 100), (48, 52, 100)))
    assert mean == pytest.approx(0)
    # Of 100 images each, the mean has a standard error of 6.996, and t with one degree of freedom is 12.706.
    assert [interval.low, interval.high] == pytest.approx([-88.893, 88.893], abs=0.01)
    with pytest.raises(UndefinedFigureError):
        random_effects(*comparisons((52, 48, 100)))


def test_comparisons_that_happen_to_agree_are_no_more_certain_than_their_images():
    mean, interval = random_effects(*comparisons((17, 13, 30), (17, 13, 30), (17, 13, 31)))
    assert mean == pytest.approx(13.2, abs=0.1)
    # Each alone is about ±30. By their agreement alone it would be from 12.6 to 13.8.
    assert [interval.low, interval.high] == pytest.approx([-29.9, 56.3], abs=0.1)


def test_comparisons_that_differ_weigh_more_alike_than_by_their_images():
    differ, _ = random_effects(*comparisons((800, 200, 1_000), (30, 70, 100)))
    alike, _ = random_effects(*comparisons((600, 400, 1_000), (59, 41, 100)))
    assert abs(differ - (60 - 40) / 2) < 2
    assert alike == pytest.approx(19.8, abs=0.1)


def test_what_comparisons_of_the_same_images_have_in_common_makes_their_mean_less_certain():
    outcomes = [rng().permutation(np.repeat([1, -1], 50)) for _ in range(4)]
    apart = random_effects([np.arange(100) + 100 * part for part in range(4)], outcomes)[1]
    shared = random_effects([np.arange(100)] * 4, outcomes)[1]
    # All four say the same of each image, and so no more than one does: its standard error is 10, that of four alone 5.
    assert apart.width / 2 == pytest.approx(3.182 * 4.9, abs=0.3)
    assert shared.width / 2 == pytest.approx(3.182 * 10, abs=0.3)
    assert shared.design.words == (
        "generalises to other comparisons like these and other images (random effects, Hartung–Knapp)"
    )


def judged_by_three(signs, raters):
    """Images with three judgements each."""
    image = np.repeat(np.arange(len(signs)), 3)
    said = np.asarray(signs)
    outcomes = majority_outcomes((said > 0).sum(1), (said < 0).sum(1), np.full(len(said), 3))
    columns = (image, np.asarray(raters).ravel(), said.ravel(), moved_outcomes(said.ravel(), image))
    return DecidedImages(np.arange(len(said)), outcomes, *columns)


def test_a_judgement_moves_an_outcome_by_what_another_would_not_have_made_of_it():
    # Half of all judgements say better, a third worse and a sixth neither.
    signs = np.array([1, 1, -1, 1, -1, 0])
    moved = moved_outcomes(signs, [0, 0, 0, 1, 1, 1])
    # Of the first image (+1): without a better, one better and one worse are left: 1/2 − 1/3; without the worse, +1.
    # Of the second (0): without the better, -1 with a third; without the worse, +1 with a half; without neither, 1/6.
    raw = np.array([1 - 1 / 6, 1 - 1 / 6, 0, 1 / 3, -1 / 2, -1 / 6])
    assert moved == pytest.approx(raw - raw.mean())


def test_raters_who_differ_widen_the_interval_over_other_raters_and_not_the_published_one():
    signs = rng().choice([1, 0, -1], size=(300, 3), p=[0.4, 0.2, 0.4])
    three = np.tile(["a", "b", "c"], 300)
    alike, _ = with_other_raters(judged_by_three(signs, three))
    differ = signs.copy()
    differ[:, 0], differ[:, 1] = 1, -1
    apart, p = with_other_raters(judged_by_three(differ, three))
    assert apart.width > 4 * alike.width
    assert p > 0.5
    assert alike.design.varies == {"image": 300, "rater": 3}


def test_raters_who_all_agree_claim_no_more_than_so_many_raters_can():
    interval, p = with_other_raters(judged_by_three(np.ones((600, 3)), np.tile(["a", "b", "c"], 600)))
    assert [interval.low, interval.high] == pytest.approx([-41.5, 100], abs=0.1)
    assert p == pytest.approx(0.25)
    with pytest.raises(UndefinedFigureError) as refused:
        with_other_raters(judged_by_three(np.ones((600, 3)), np.full(1800, "a")))
    assert refused.value.reason == UndefinedReason.ONE_RATER
    neither, p = with_other_raters(judged_by_three(np.zeros((600, 3)), np.tile(["a", "b", "c"], 600)))
    assert [neither.low, neither.high] == pytest.approx([-70.8, 70.8], abs=0.1)
    assert p == 1


def test_raters_who_always_agree_on_images_that_differ_are_still_three():
    three = np.tile(["a", "b", "c"], 24)
    signs = np.repeat([[1], [-1]], [18, 6], axis=0).repeat(3, axis=1)
    interval, p = with_other_raters(judged_by_three(signs, three))
    # 29% of others agree for certain: 0.2924 × 50 ± 70.76. Two-way clustering reaches a little further up.
    assert [interval.low, interval.high] == pytest.approx([-56.1, 87.4], abs=0.1)
    assert p == pytest.approx(2 * (2 / 3) ** 3)
    assert interval.design.method == "clopper-pearson-units"

    # Eight wins and twenty pairs with equal captions, which no rater was shown.
    judged = judged_by_three(np.ones((8, 3)), np.tile(["a", "b", "c"], 8))
    outcomes = np.append(judged.outcome, np.zeros(20, dtype=np.int8))
    interval, p = with_other_raters(replace(judged, image=np.arange(28), outcome=outcomes))
    assert interval.low == pytest.approx(-41.5 * 8 / 28, abs=0.1)
    assert p == pytest.approx(0.25)


def test_one_slip_of_raters_who_agree_does_not_make_a_gain_certain():
    signs = np.repeat([[1], [-1]], [75, 25], axis=0).repeat(3, axis=1)
    found = []
    for slips in (0, 1, 2, 5, 10):
        slipped = signs.copy()
        slipped[:slips, 0] = 0
        found.append(with_other_raters(judged_by_three(slipped, np.tile(["a", "b", "c"], 100))))
    assert found[0][1] == pytest.approx(2 * (2 / 3) ** 3)
    for (before, p_before), (interval, p) in pairwise(found):
        assert interval.holds(0)
        assert interval.width == pytest.approx(before.width, rel=0.1)
        assert 0.05 < p < p_before
    assert found[1][1] == pytest.approx(found[0][1], rel=0.05)


def test_one_image_that_raters_share_does_not_tell_whether_they_are_alike():
    image, raters = np.append(np.arange(100), 0), np.append(np.arange(100) % 5, 1)
    signs = np.append(np.repeat([1, -1], [75, 25]), 1)
    found = []
    for last in (1, -1):
        signs[-1] = last
        outcomes = np.append(signs[:1] * (last == 1), signs[1:100]).astype(np.int8)
        decided = DecidedImages(np.arange(100), outcomes, image, raters, signs.copy(), moved_outcomes(signs, image))
        found.append(with_other_raters(decided)[1])
    assert min(found) > 0.2
    assert found[1] == pytest.approx(found[0], rel=0.1)


def test_two_raters_leave_one_degree_of_freedom():
    signs = rng(2).choice([1, -1], size=(200, 3), p=[0.7, 0.3])
    interval, p = with_other_raters(judged_by_three(signs, np.tile(["a", "b", "b"], 200)))
    assert interval.holds(0)
    assert p > 0.05


def test_with_few_images_other_raters_make_nothing_more_certain():
    signs, image = np.tile([1, 1, 1, 1, 1, 0], 4), np.arange(4).repeat(6)
    columns = (image, np.arange(24), signs, moved_outcomes(signs, image))
    interval, p = with_other_raters(DecidedImages(np.arange(4), np.ones(4, dtype=np.int8), *columns))
    assert interval.low == pytest.approx(gain_interval(4, 0, 4, resamples=100, rng=rng()).low)
    assert p == pytest.approx(0.125)


def test_of_few_images_no_interval_claims_more_than_its_p_value_and_none_over_raters_more_than_over_images():
    draw = rng(11)
    for run in range(300):
        images, raters = int(draw.integers(1, 20)), int(draw.integers(2, 7))
        replication = min(raters, int(draw.integers(1, 4)))
        who = np.argsort(draw.random((images, raters)), axis=1)[:, :replication]
        signs = draw.choice([1, 0, -1], size=who.shape, p=[0.6, 0.2, 0.2])
        signs = signs[:, :1].repeat(replication, axis=1) if run % 3 == 0 else signs
        better, worse = (signs > 0).sum(1), (signs < 0).sum(1)
        outcomes = majority_outcomes(better, worse, np.full(images, replication))
        image, said = np.repeat(np.arange(images), replication), signs.ravel()
        decided = DecidedImages(np.arange(images), outcomes, image, who.ravel(), said, moved_outcomes(said, image))
        if decided.raters < 2:
            continue
        others, p = with_other_raters(decided)
        wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
        these = gain_interval(wins, losses, images, resamples=100, rng=rng())
        assert others.low <= these.low <= these.high <= others.high
        assert others.holds(0) == (p > 0.05)
        assert these.holds(0) or sign_test(wins, losses) < 0.05


def test_without_images_there_is_no_gain():
    for figure in (
        lambda: gain(0, 0, 0),
        lambda: gain_interval(0, 0, 0, resamples=100, rng=rng()),
        lambda: images_needed(0, 0, 0, width_points=5),
        lambda: pooled_gain([]),
        lambda: pooled_gain_interval([], [], resamples=100, rng=rng()),
    ):
        with pytest.raises(UndefinedFigureError) as refused:
            figure()
        assert refused.value.reason == UndefinedReason.NO_IMAGES


def test_comparisons_that_share_no_image_pool_like_one():
    outcomes = np.repeat([1, -1, 0], [50, 20, 30])

    pooled = pooled_gain_interval(np.arange(100), outcomes, resamples=40_000, rng=rng())
    single = gain_interval(50, 20, 100, resamples=40_000, rng=rng(1))

    assert pooled_gain(outcomes) == 30
    assert [pooled.low, pooled.high] == pytest.approx([single.low, single.high], abs=1.01)


def test_an_image_that_comes_again_in_other_comparisons_adds_no_certainty():
    images, outcomes = np.arange(100), np.repeat([1, -1, 0], [50, 20, 30])

    once = pooled_gain_interval(images, outcomes, resamples=40_000, rng=rng())
    four_times = pooled_gain_interval(np.tile(images, 4), np.tile(outcomes, 4), resamples=40_000, rng=rng(1))
    four_times_as_many = pooled_gain_interval(np.arange(400), np.tile(outcomes, 4), resamples=40_000, rng=rng(2))

    assert four_times.width == pytest.approx(once.width, abs=1.01)
    assert four_times_as_many.width == pytest.approx(once.width / 2, abs=1.01)


def test_the_pooled_interval_is_that_of_drawing_images_one_by_one():
    draw = rng(3)
    images = np.repeat(np.arange(60), draw.integers(1, 4, size=60))
    outcomes = draw.integers(-1, 2, size=len(images))
    sums, sizes = np.bincount(images, weights=outcomes), np.bincount(images)
    drawn = draw.integers(0, 60, size=(20_000, 60))

    interval = pooled_gain_interval(images, outcomes, resamples=20_000, rng=rng())

    one_by_one = 100 * sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(one_by_one, [0.025, 0.975]).tolist(), abs=0.7)


def test_a_tie_is_a_sign_of_its_own_when_a_pair_is_shown_again():
    assert count_flips([3, 1, -2, 0, 0, 2], [1, -1, -3, 0, 2, 0]) == (3, 1)
    assert count_flips([], []) == (0, 0)
