"""How many images a gain takes: against simulations of what so many show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crosslens_metrics.gains import DecidedImages, gain_interval, with_other_raters
from crosslens_metrics.images_needed import images_needed, images_to_see, images_to_see_with_other_raters
from crosslens_metrics.majorities import majority_outcomes, moved_outcomes
from crosslens_metrics.sampling.intervals import paired_interval
from crosslens_metrics.sampling.significance import sign_test
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_as_many_images_as_are_said_to_be_needed_give_the_width_asked_for():
    needed = images_needed(40, 25, 100, width_points=4)

    interval = gain_interval(round(0.4 * needed), round(0.25 * needed), needed, resamples=40_000, rng=rng())

    assert interval.width == pytest.approx(4, rel=0.03)


def test_as_many_images_as_are_said_to_be_needed_see_the_gain_with_a_chance_of_80_percent():
    needed = images_to_see(40, 30, 100)
    draws = rng().multinomial(needed, [0.4, 0.3, 0.3], size=4000)
    share = (draws[:, 0] - draws[:, 1]) / needed
    error = np.sqrt(((draws[:, 0] + draws[:, 1]) / needed - share**2) / needed)

    assert needed == math.ceil((1.959964 + 0.841621) ** 2 * 0.69 / 0.1**2)
    assert (np.abs(share) > 1.96 * error).mean() == pytest.approx(0.8, abs=0.03)
    for counts, reason in (
        ((30, 30, 100), UndefinedReason.NO_DIFFERENCE),
        ((0, 0, 0), UndefinedReason.NO_IMAGES),
        ((1, 0, 20), UndefinedReason.ONE_DECIDED),
    ):
        with pytest.raises(UndefinedFigureError) as refused:
            images_to_see(*counts)
        assert refused.value.reason == reason


@pytest.mark.parametrize(("wins", "losses", "images"), [(39, 0, 40), (8, 0, 28), (11, 2, 24), (3, 0, 303)])
def test_few_images_see_a_gain_where_the_sign_test_finds_it_with_a_chance_of_80_percent(wins, losses, images):
    needed = images_to_see(wins, losses, images)
    shares = [wins / images, losses / images, 1 - (wins + losses) / images]
    chances = []
    for number in (needed, needed // 2):
        draws = rng().multinomial(number, shares, size=2000)[:, :2].tolist()
        chances.append(np.mean([bool(won + lost) and sign_test(won, lost) < 0.05 for won, lost in draws]))
    assert chances[0] == pytest.approx(0.82, abs=0.05)
    assert chances[1] < 0.6
    assert needed > (1.959964 + 0.841621) ** 2 * images * (wins + losses) / (wins - losses) ** 2 - 8


def test_the_width_of_few_images_is_that_of_their_exact_interval():
    needed = images_needed(3, 0, 303, width_points=10)
    assert needed == 108
    assert (
        paired_interval(3 / 303 * 108, 0, 108).times(100).width
        <= 10
        < paired_interval(3 / 303 * 107, 0, 107).width * 100
    )


def test_of_images_that_all_have_the_same_outcome_six_show_a_gain():
    assert images_to_see(4, 0, 4) == images_to_see(0, 600, 600) == 6
    needed = images_needed(4, 0, 4, width_points=10)
    assert paired_interval(needed, 0, needed).width <= 0.1 < paired_interval(needed - 1, 0, needed - 1).width
    assert images_needed(0, 0, 4, width_points=10) < needed
    with pytest.raises(UndefinedFigureError) as refused:
        images_to_see(0, 0, 4)
    assert refused.value.reason == UndefinedReason.NO_DIFFERENCE


def judged_by(raters: int, images: int, *, leaning: float, mean: float, seed: int = 0) -> DecidedImages:
    """Three judgements of each image, by raters with a preference of their own, on a scale on which ±15 is neither."""
    draw = rng(seed)
    who = np.argsort(draw.random((images, raters)), axis=1)[:, :3]
    lean = leaning * np.linspace(-1, 1, raters)
    latent = mean + lean[who] + 40 * draw.standard_normal(who.shape)
    signs = np.where(latent > 15, 1, np.where(latent < -15, -1, 0))
    image, said = np.repeat(np.arange(images), 3), signs.ravel()
    outcomes = majority_outcomes((signs > 0).sum(axis=1), (signs < 0).sum(axis=1), np.full(images, 3))
    return DecidedImages(np.arange(images), outcomes, image, who.ravel(), said, moved_outcomes(said, image))


def test_raters_who_differ_little_need_more_images_and_so_many_show_the_gain():
    # The gain that is seen, 21 points, is that of the preference.
    study = judged_by(30, 200, leaning=10, mean=9, seed=2)
    counts = int((study.outcome > 0).sum()), int((study.outcome < 0).sum())
    needed = images_to_see_with_other_raters(study)
    assert (images_to_see(*counts, 200), needed) == (98, 181)
    again = [judged_by(30, needed, leaning=10, mean=9, seed=seed) for seed in range(100, 160)]
    assert np.mean([with_other_raters(one)[1] < 0.05 for one in again]) == pytest.approx(0.8, abs=0.15)


def test_with_raters_who_differ_much_or_always_agree_no_number_of_images_is_enough():
    study = judged_by(3, 600, leaning=40, mean=12)
    assert study.outcome.mean() > 0.1
    three = np.repeat([1, -1], [18, 6]).repeat(3)
    image = np.repeat(np.arange(24), 3)
    agreed = DecidedImages(
        np.arange(24), three[::3].astype(np.int8), image, np.tile(np.arange(3), 24), three, moved_outcomes(three, image)
    )
    for decided in (study, agreed):
        with pytest.raises(UndefinedFigureError) as refused:
            images_to_see_with_other_raters(decided)
        assert refused.value.reason == UndefinedReason.MORE_RATERS
