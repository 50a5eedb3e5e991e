"""What a side-by-side design can see: the chance that the interval of a gain lies above zero, by simulation.

A judgement is a preference on a latent scale: what the image adds, what the rater adds who leans to one model's style,
and the rest, which is new each time. Between −15 and 15 it says SIMILAR. Majorities count whatever the degree, so a
scale of seven points and one of five see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.majorities import alike_judgements, majority_outcomes
from crosslens_metrics.on_first_use import scipy
from crosslens_metrics.sampling.intervals import FEW_IMAGES, LEVEL, NORMAL_QUANTILE, POWER, student_quantile
from crosslens_metrics.sampling.variance import unanimous_interval

SIMILAR_WITHIN = 15.0
"""On the latent scale, of which it is the unit."""
GAINS = (3.0, 5.0, 8.0)
"""In points: a small gain, and two larger ones."""
RUNS, SEED = 400, 0
"""(ours) Simulated evaluations: a chance of 80% is known to ± 4 points."""
MAX_SIMULATED = 6_000
"""(ours) Judgements of an evaluation; of more, the power is given as if there were so many, which is less."""
MAX_GAIN = 60.0
"""(ours) In points; what sees no gain up to here is said to see none."""
GAIN_STEP = 0.25
"""In points."""
MIN_JUDGEMENTS, MIN_RATERS = 300, 5
"""(ours) The fewest from which spreads are estimated."""
PRIOR_RATERS = 5
"""(ours) As how many measured raters the prior counts. Five who judge 100 images seem not to differ in 43% of
simulations in which they do, and the power with other raters would then be twice what it is."""
REPLICATIONS = (1, 2, 3, 5)
MIN_REST = 0.05
"""Of the variance: judgements of the same image by the same rater are never taken to be all alike."""


@dataclass(frozen=True)
class PreferenceSpread:
    """Standard deviations on the latent scale: between images, between raters, and of the rest. (ours, by default)"""

    image: float = 20.0
    rater: float = 6.0
    rest: float = 40.0


PRIORS = PreferenceSpread()


@dataclass(frozen=True)
class MeasuredSpread:
    """Spreads with how many judgements and raters they are from; none, where they are priors."""

    spread: PreferenceSpread = PRIORS
    judgements: int = 0
    raters: int = 0


@dataclass(frozen=True)
class JudgingDesign:
    """`raters` take part, of whom `replication` judge each image."""

    images: int
    raters: int
    replication: int

    def __post_init__(self) -> None:
        if self.images < 2 or not 1 <= self.replication <= self.raters:
            raise ValueError(f"{self} is no design: it needs two images, and a rater for each judgement of an image.")

    @property
    def judgements(self) -> int:
        return self.images * self.replication


@dataclass(frozen=True)
class SeenGain:
    """The chances, from 0 to 1, to see a true gain of so many points.

    With these raters, the gain and its interval are theirs; with other raters, both are of raters like them, and one
    rater says nothing.
    """

    points: float
    these_raters: float
    other_raters: float | None


@dataclass(frozen=True)
class DesignPower:
    """`smallest` gains are those seen with a chance of 80%, in points; None where none up to 60 is."""

    design: JudgingDesign
    spread: PreferenceSpread
    seen: tuple[SeenGain, ...]
    smallest_these: float | None
    smallest_other: float | None


def expected_gain(mean: float, spread: PreferenceSpread, *, replication: int) -> float:
    """The gain of majorities if preferences have this mean, over all images and raters.

    - `mean`: on the latent scale.
    - `replication`: judgements of each image.
    - returned: in percentage points, to about six digits.
    """
    nodes, weights = _gauss()
    of_image, noise = mean + spread.image * nodes, float(np.hypot(spread.rater, spread.rest))
    better, worse = (scipy.special.ndtr((sign * of_image - SIMILAR_WITHIN) / noise) for sign in (1, -1))
    most = replication // 2
    wins, losses = (scipy.special.bdtrc(most, replication, share) for share in (better, worse))
    return 100 * float(weights @ (wins - losses))


@lru_cache(maxsize=1)
def _gauss() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard normal values and their probabilities, by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=64)
def power_of(design: JudgingDesign, spread: PreferenceSpread = PRIORS) -> DesignPower:
    """The chance that a design sees a gain of 3, 5 and 8 points, and the smallest gain that it sees with 80%.

    - returned: chances from 0 to 1, gains in points. Always the same for the same design.
    """
    simulated = _Simulation(design, spread)
    means = [_mean_for(points, spread, design.replication) for points in GAINS]
    return DesignPower(
        design=design,
        spread=spread,
        seen=tuple(
            SeenGain(points, simulated.these(mean), simulated.others(mean))
            for points, mean in zip(GAINS, means, strict=True)
        ),
        smallest_these=simulated.smallest(simulated.these),
        smallest_other=simulated.smallest(simulated.others),
    )


@lru_cache(maxsize=64)
def trade_of(
    design: JudgingDesign, spread: PreferenceSpread = PRIORS, *, points: float = GAINS[-1]
) -> tuple[tuple[JudgingDesign, SeenGain], ...]:
    """The same number of judgements with fewer or more raters per image, of the same two models.

    - `points`: the gain that the given design would have: the preference behind it is that of all.
    - returned: by replication; each with the gain that its own majorities have.
    """
    mean = _mean_for(points, spread, design.replication)
    replications = sorted({*REPLICATIONS, design.replication})
    designs = [
        JudgingDesign(design.judgements // replication, design.raters, replication)
        for replication in replications
        if replication <= design.raters and design.judgements // replication > 1
    ]
    parts = []
    for other in designs:
        simulated, own = _Simulation(other, spread), expected_gain(mean, spread, replication=other.replication)
        parts.append((other, SeenGain(own, simulated.these(mean), simulated.others(mean))))
    return tuple(parts)


class _Simulation:
    """The same evaluations for each mean, so that a larger gain is never seen less often.

    Arrays are of shape (replication, runs, images): sums over the judgements of an image are sums of planes.
    """

    def __init__(self, design: JudgingDesign, spread: PreferenceSpread) -> None:
        self.design, self.spread = design, spread
        rng = np.random.default_rng(SEED)
        images = max(2, min(design.images, MAX_SIMULATED // design.replication))
        self.rater_of = rng.random((images, design.raters)).argsort(axis=1)[:, : design.replication].T
        judged = spread.rest * rng.standard_normal((design.replication, RUNS, images), dtype=np.float32)
        judged += spread.image * rng.standard_normal((RUNS, images), dtype=np.float32)
        lean = spread.rater * rng.standard_normal((RUNS, design.raters), dtype=np.float32)
        self._of_others = judged + self._by_judgement(lean)
        # With these raters, what they lean to on the whole is part of the gain.
        self._of_these = judged + self._by_judgement(lean - lean.mean(axis=1, keepdims=True))

    def these(self, mean: float) -> float:
        """The chance that the interval over images, with these raters, lies above zero."""
        outcome = _outcomes(*_votes(self._of_these, mean))
        error = np.sqrt(outcome.var(axis=1) / outcome.shape[1])
        is_few, by_sign_test = _few_images(outcome)
        return float(np.where(is_few, by_sign_test, outcome.mean(axis=1) > NORMAL_QUANTILE * error).mean())

    def others(self, mean: float) -> float | None:
        """The chance for the interval over images and raters: `crosslens_metrics.gains.with_other_raters`."""
        if self.design.raters < 2:
            return None
        better, worse = _votes(self._of_others, mean)
        outcome = _outcomes(better, worse)
        images, raters = outcome.shape[1], np.unique(self.rater_of)
        of_images = outcome.var(axis=1) / (images - 1)
        said = (better.astype(np.float32) - worse) / len(better)
        if len(better) == 2:
            said *= (better | worse).mean(axis=(0, 2), keepdims=True)
        reach = np.zeros(RUNS)
        for share in (_moved(better, worse), said):
            of_raters, of_cells = self._over_raters(share, raters)
            variance = np.maximum(of_images + of_raters - of_cells, np.maximum(of_images, of_raters))
            parts = of_images**2 / (images - 1) + of_raters**2 / (len(raters) - 1)
            freedom = np.divide(variance**2, parts, out=np.ones(RUNS), where=parts > 0)
            if len(raters) == 2:
                freedom[:] = 1
            reach = np.maximum(reach, student_quantile(freedom) * np.sqrt(variance))
        value = outcome.mean(axis=1)
        is_few, by_sign_test = _few_images(outcome)
        # Up to 1, since others may say anything of all images.
        unseen = _alike(better, worse) * unanimous_interval(len(raters), 0.0, low=-1, high=1).high
        is_seen = value > reach
        is_seen &= ~is_few | by_sign_test
        is_seen &= value * (1 - unseen) > unseen
        return float(is_seen.mean())

    def _over_raters(self, share: NDArray[np.floating], raters: NDArray[np.int_]) -> NDArray[np.float64]:
        """Of each run, the variance over raters of the mean over images, and what is in each of its cells."""
        off, images = share - share.mean(axis=(0, 2), keepdims=True), share.shape[2]
        is_by = (self.rater_of[:, :, None] == raters).astype(np.float32)
        by_rater = np.square(np.matmul(off, is_by).sum(axis=0, dtype=float)).sum(axis=1)
        by_cell = np.square(off).sum(axis=(0, 2), dtype=float)
        return np.asarray(np.array([by_rater * len(raters) / (len(raters) - 1), by_cell]) / images**2)

    def smallest(self, chance: Callable[[float], float | None]) -> float | None:
        """The smallest gain, in points, that is seen with a chance of 80%."""

        def is_seen(points: float) -> bool:
            return (chance(_mean_for(points, self.spread, self.design.replication)) or 0.0) >= POWER

        low, high = 0.0, MAX_GAIN
        if not is_seen(high):
            return None
        while high - low > GAIN_STEP:
            middle = (low + high) / 2
            low, high = (low, middle) if is_seen(middle) else (middle, high)
        return high

    def _by_judgement(self, lean: NDArray[np.float32]) -> NDArray[np.float32]:
        return lean[:, self.rater_of].swapaxes(0, 1)


def _few_images(outcome: NDArray[np.int8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """In which runs images are too few for resamples, and whether the exact interval, or the sign test, sees a gain."""
    wins, losses = (outcome > 0).sum(axis=1), (outcome < 0).sum(axis=1)
    images = outcome.shape[1]
    is_few = images - np.max([wins, losses, images - wins - losses], axis=0) < FEW_IMAGES
    return is_few, (wins > losses) & (scipy.special.bdtr(losses, wins + losses, 0.5) < (1 - LEVEL) / 2)


def _alike(better: NDArray[np.bool_], worse: NDArray[np.bool_]) -> NDArray[np.float64]:
    """`crosslens_metrics.gains.DecidedImages.alike` of each run."""
    said = np.stack([_sum(better), _sum(worse), _sum(~(better | worse))])
    return alike_judgements(said if len(better) > 1 else said.sum(axis=2, keepdims=True))


def _votes(preferences: NDArray[np.float32], mean: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return preferences > SIMILAR_WITHIN - mean, preferences < -SIMILAR_WITHIN - mean


def _outcomes(better: NDArray[np.bool_], worse: NDArray[np.bool_]) -> NDArray[np.int8]:
    return majority_outcomes(_sum(better), _sum(worse), np.int64(len(better)))


def _sum(votes: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.asarray(votes.sum(axis=0, dtype=np.int8))


def _moved(better: NDArray[np.bool_], worse: NDArray[np.bool_]) -> NDArray[np.float32]:
    """`crosslens_metrics.majorities.moved_outcomes`, by a table of what may be said of an image and by whom."""
    replication = len(better)
    shares = {1: better.mean(), -1: worse.mean(), 0: 1 - better.mean() - worse.mean()}
    wins, losses, sign = np.ogrid[: replication + 1, : replication + 1, -1:2]
    own = majority_outcomes(wins, losses, replication)
    instead = sum(
        share * majority_outcomes(wins - (sign > 0) + (other > 0), losses - (sign < 0) + (other < 0), replication)
        for other, share in shares.items()
    )
    table = (own - instead).astype(np.float32).ravel()
    of_image = (_sum(better).astype(np.int16) * (replication + 1) + _sum(worse)) * 3 + 1
    return np.asarray(table[of_image + better - worse.astype(np.int16)])


@lru_cache(maxsize=256)
def _mean_for(points: float, spread: PreferenceSpread, replication: int) -> float:
    """The mean preference whose majorities have a gain of so many points."""
    reach = 20 * (SIMILAR_WITHIN + spread.image + spread.rater + spread.rest)
    return float(
        scipy.optimize.brentq(lambda mean: expected_gain(mean, spread, replication=replication) - points, 0, reach)
    )


def measured_spread(comparisons: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]]) -> MeasuredSpread:
    """The spreads of preferences from what raters said, by the method of moments on signs.

    How often they say SIMILAR gives the spread of all in units of the thresholds; how alike the signs of one image by
    different raters are, and those of one rater about different images, gives the parts of images and raters. Several
    comparisons count by their judgements. Few raters often seem not to differ, so that their part lies between what was
    measured and the prior.

    Parameters
    ----------
    comparisons : iterable of (images, raters, signs)
        Of one comparison each: arrays of shape (n_judgements,), with +1, −1 or 0 for the signs. A rater judges an image
        once.

    Returns
    -------
    MeasuredSpread
        The priors, from no judgement, with fewer than 300 judgements or 5 raters in every comparison, or where no
        image was judged by two.
    """
    parts, judgements, raters = [], 0, set[object]()
    for image, rater, sign in comparisons:
        names = np.asarray(rater)
        part = _variances(np.asarray(image), names, np.asarray(sign, dtype=float))
        if part is None:
            continue
        parts.append(len(names) * part)
        judgements += len(names)
        raters.update(names.tolist())
    if not parts:
        return MeasuredSpread()
    of_image, of_rater, rest = np.sum(parts, axis=0) / judgements
    least = MIN_REST * (of_image + of_rater + rest)
    prudent = (PRIOR_RATERS * PRIORS.rater**2 + (len(raters) - 1) * of_rater) / (PRIOR_RATERS + len(raters) - 1)
    spread = np.sqrt([of_image, prudent, max(least, rest + of_rater - prudent)])
    return MeasuredSpread(PreferenceSpread(*spread.tolist()), judgements, len(raters))


def _variances(image: ArrayLike, rater: ArrayLike, sign: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Those of images, raters and the rest in one comparison; None where it does not show them."""
    image_of, rater_of = (np.unique(codes, return_inverse=True)[1] for codes in (image, rater))
    raters = int(rater_of.max(initial=-1)) + 1
    shared = _pairs(image_of)
    if len(sign) < MIN_JUDGEMENTS or raters < MIN_RATERS or not shared:
        return None
    # Half a judgement more of each kind, so that none is at the end of the scale.
    below, _, above = (np.array([(sign == kind).sum() for kind in (-1, 0, 1)]) + 0.5) / (len(sign) + 1.5)
    places = scipy.special.ndtri([below, above])
    total = (2 * SIMILAR_WITHIN / places.sum()) ** 2
    # How much a sign moves with the preference: the density at the two thresholds.
    slope = float(np.exp(-(places**2) / 2).sum() / np.sqrt(2 * np.pi))
    off = sign - sign.mean()
    alike = [_products(off, image_of) / shared, _products(off, rater_of) / _pairs(rater_of) * raters / (raters - 1)]
    shares = np.maximum(np.array(alike) / slope**2, 0.0)
    shares *= min(1.0, (1 - MIN_REST) / max(float(shares.sum()), 1e-12))
    return np.asarray(total * np.append(shares, 1 - shares.sum()))


def _pairs(codes: NDArray[np.int_]) -> int:
    """How many ordered pairs of judgements have a code in common."""
    counts = np.bincount(codes)
    return int((counts * (counts - 1)).sum())


def _products(off: NDArray[np.float64], codes: NDArray[np.int_]) -> float:
    """The sum of the products of these pairs."""
    return float((np.bincount(codes, off) ** 2).sum() - (off**2).sum())
