"""How many images a gain takes, if outcomes stay as frequent and raters as different as they were."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.gains import (
    MIN_RATERS,
    DecidedImages,
    gain,
    independent_outcomes,
    pooled_gain,
)
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.intervals import (
    FEW_IMAGES,
    IMAGES_FOR_POWER,
    LEVEL,
    NORMAL_QUANTILE,
    POWER,
    paired_interval,
    student_quantile,
)
from crosslens_metrics.sampling.significance import unanimous_p
from crosslens_metrics.sampling.variance import VarianceComponent, two_way
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

MIN_DECIDED = 2
"""Decided images, below which nothing is said of how many more it takes."""
MAX_DECIDED = 200
"""From so many decided images on, a gain that is seen with 20 of them is taken to be seen for certain."""
MAX_IMAGES = 1e9
"""A gain that takes more is not seen with any number."""


def images_needed(wins: int, losses: int, images: int, *, width_points: float) -> int:
    """How many images the 95% interval of a gain takes to be `width_points` wide, if outcomes stay as frequent.

    From the variance of the outcome, the interval is about 2 × 1.96 × 100 × sqrt(variance / images) points wide; with
    few images it is exact.

    - `wins`, `losses` and `images`: as for `gains.gain`.
    - `width_points`: in percentage points, above 0.
    - returned: images in all, those there are included.

    Raises UndefinedFigureError without images.
    """
    enough = math.ceil((2 * NORMAL_QUANTILE * 100 / width_points) ** 2 * _variance(wins, losses, images))
    least_share = _least_share(wins, losses, images)
    most = math.ceil(FEW_IMAGES / least_share) if least_share else int(MAX_IMAGES)

    def is_narrow(number: int) -> bool:
        interval = paired_interval(number * wins / images, number * losses / images, number)
        return 100 * interval.width <= width_points

    return max(enough, 1 + bisect_left(range(1, most), True, key=is_narrow)) if enough < most else enough


def images_to_see(wins: float, losses: float, images: float) -> int:
    """How many images it takes for an 80% chance that the 95% interval of a gain leaves out zero.

    The gain is taken to be what was seen, with outcomes as frequent, and with these raters. With few images the
    interval is exact, and leaves out zero where the sign test does.

    - `wins`, `losses` and `images`: as for `gains.gain`.
    - returned: images in all, those there are included.

    Raises UndefinedFigureError without images or a gain, or with a single decided image.
    """
    variance = _variance(wins, losses, images)
    if wins == losses:
        raise UndefinedFigureError(UndefinedReason.NO_DIFFERENCE, "The images show no gain that more could confirm.")
    if wins + losses < MIN_DECIDED:
        raise UndefinedFigureError(UndefinedReason.ONE_DECIDED, "One decided image does not show how often one wins.")
    enough = math.ceil(IMAGES_FOR_POWER * NORMAL_QUANTILE**2 * variance / ((wins - losses) / images) ** 2)
    if enough * _least_share(wins, losses, images) >= FEW_IMAGES:
        return enough
    decided, lost = (wins + losses) / images, min(wins, losses) / (wins + losses)

    def is_seen(number: int) -> bool:
        return _chance_of_sign_test(number, decided, lost) >= POWER

    return 1 + bisect_left(range(1, math.ceil(MAX_DECIDED / decided)), True, key=is_seen)


def _chance_of_sign_test(images: int, decided: float, lost: float) -> float:
    """That the sign test is below 0.05, with these shares of decided images and of losses among them."""
    numbers = np.arange(MAX_DECIDED + 1)
    up_to = scipy.special.bdtr(np.minimum(numbers, images), images, decided)
    allowed = _most_losses()
    seen = np.where(allowed < 0, 0.0, scipy.special.bdtr(np.maximum(allowed, 0), numbers, lost))
    return float(np.diff(up_to, prepend=0.0) @ seen + 1 - up_to[-1])


@lru_cache(maxsize=1)
def _most_losses() -> NDArray[np.int_]:
    """Of each number of decided images, with how many losses the sign test is below 0.05; −1 where it never is."""
    numbers, losses = np.ogrid[: MAX_DECIDED + 1, : MAX_DECIDED // 2]
    tail = scipy.special.bdtr(np.minimum(losses, numbers), numbers, 0.5)
    return np.asarray((tail < (1 - LEVEL) / 2).sum(axis=1) - 1)


def refuse_few_raters(raters: int) -> None:
    """Refuse to say how many images show what other raters find.

    Raises UndefinedFigureError with fewer than `gains.MIN_RATERS` raters.
    """
    if raters < MIN_RATERS:
        raise UndefinedFigureError(UndefinedReason.MORE_RATERS, "So few raters say little about others.")


def images_to_see_with_other_raters(decided: DecidedImages) -> int:
    """How many images it takes for an 80% chance that the interval of a gain with other raters leaves out zero.

    The gain is taken to be what was seen. More images make the variance over images small, and that over raters only
    as far as it is in both: what is left is how these raters differ, which only more raters make smaller.

    - returned: images in all, those there are included; at least as many as `images_to_see`.

    Raises UndefinedFigureError with fewer than `gains.MIN_RATERS` raters, or where no number of images is enough; or
    without images or a gain.
    """
    value, parts = abs(pooled_gain(decided.outcome)), decided.variance
    wins, losses, images, _is_few = independent_outcomes(decided.image, decided.outcome)
    least = images_to_see(wins, losses, images)
    refuse_few_raters(decided.raters)
    between = max(0.0, parts.by_rater.variance - parts.by_both)
    units, raters = parts.by_image.units, decided.raters

    def excess(number: float) -> float:
        """By how many points the gain is more than so many images take."""
        shrunk = units / number
        both = shrunk * (parts.by_rater.variance - between)
        by_image = VarianceComponent(shrunk * parts.by_image.variance, max(2, round(number)))
        variance, freedom = two_way(by_image, replace(parts.by_rater, variance=between + both), both)
        return value - (float(student_quantile(freedom)) + NormalDist().inv_cdf(POWER)) * math.sqrt(variance)

    too_alike = unanimous_p(raters, value, reach=decided.shown, alike=decided.alike) >= 1 - LEVEL
    if too_alike or excess(MAX_IMAGES) <= 0:
        raise UndefinedFigureError(UndefinedReason.MORE_RATERS, "With so few raters no number of images is enough.")
    if excess(least) >= 0:
        return least
    return math.ceil(float(scipy.optimize.brentq(excess, least, MAX_IMAGES)))


def _least_share(wins: float, losses: float, images: float) -> float:
    """Of the images, how many do not have the most frequent outcome."""
    return 1 - max(wins, losses, images - wins - losses) / images


def _variance(wins: float, losses: float, images: float) -> float:
    mean = gain(wins, losses, images) / 100
    return (wins + losses) / images - mean**2
