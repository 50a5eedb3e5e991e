"""Studies with a known truth, which the tables of docs/statistics.md and the tests of intervals draw from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.correlation_intervals import ComparedModels, LeaveOneOut, leave_one_out
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.gains import DecidedImages, gain_interval, with_other_raters
from crosslens_metrics.majorities import majority_outcomes, moved_outcomes
from crosslens_metrics.ranking import RankingOutcomes, StrengthVariances, bradley_terry, win_table
from crosslens_metrics.reports.ranking_leads import freedom_to_correct
from crosslens_metrics.sampling.intervals import LEVEL, Interval, student_interval
from crosslens_metrics.sampling.significance import student_p

Values = NDArray[np.float64]
Whole = NDArray[np.int_]
RATERS = 3
"""Of each image."""
RESAMPLES = 400
STANDARD_ERRORS = 3.3
"""Of a simulation: over all that the tests try, a right interval is refused once in about a hundred seeds."""
NOISE = 0.3
"""Standard deviation of what raters add to the quality of a model in a language, which has 1."""
TRUE = {
    Coefficient.PEARSON: lambda r: r,
    Coefficient.SPEARMAN: lambda r: 6 / math.pi * math.asin(r / 2),
    Coefficient.KENDALL: lambda r: 2 / math.pi * math.asin(r),
    Coefficient.MATTHEWS: lambda r: 2 / math.pi * math.asin(r),
}
"""Of normal differences with Pearson's correlation r."""


@dataclass(frozen=True)
class MeasuredCoverage:
    """In which share of runs an interval held the truth."""

    share: float
    runs: int

    @classmethod
    def of(cls, held: Sequence[bool] | NDArray[np.bool_]) -> MeasuredCoverage:
        """Whether each run's interval held the truth."""
        return cls(float(np.mean(held)), len(held))

    @property
    def error(self) -> float:
        """The simulation's own binomial error at the nominal rate."""
        return STANDARD_ERRORS * math.sqrt(LEVEL * (1 - LEVEL) / self.runs)

    @property
    def is_nominal(self) -> bool:
        return abs(self.share - LEVEL) <= self.error

    @property
    def is_too_low(self) -> bool:
        return self.share < LEVEL - self.error


@dataclass(frozen=True)
class RatersWhoDiffer:
    """Images and raters with a preference each, in points of a latent scale on which ±15 is neither."""

    images: int
    raters: int
    spread: float
    """Of the raters' preferences; that of images is 20, of judgements 40."""

    def judged(self, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Signs and raters of three judgements of each image, of models that are equally good."""
        raters = drawn_raters(self.images, self.raters, rng)
        preference = self.spread * rng.standard_normal(self.raters)[raters]
        latent = 20 * rng.standard_normal((self.images, 1)) + preference + 40 * rng.standard_normal(raters.shape)
        return np.where(latent > 15, 1, np.where(latent < -15, -1, 0)), raters


@dataclass(frozen=True)
class LanguagesOfImages:
    """Two equal models in languages, which have preferences of their own, on 100 images that may be the same in all."""

    languages: int
    spread: float
    is_shared: bool

    def outcomes(self, rng: np.random.Generator) -> tuple[list[Whole], list[Whole]]:
        """Images and outcomes of each language."""
        shape = (self.languages, 100)
        of_image = np.broadcast_to(20 * rng.standard_normal(shape[self.is_shared :]), shape)
        of_language = self.spread * rng.standard_normal((self.languages, 1))
        latent = (of_image + of_language)[..., None] + 40 * rng.standard_normal((*shape, RATERS))
        better, worse = ((sign * latent > 15).sum(axis=2) for sign in (1, -1))
        names = np.arange(self.languages * 100).reshape(shape) % (100 if self.is_shared else self.languages * 100)
        return list(names), list(majority_outcomes(better, worse, np.full(shape, RATERS)))


@dataclass(frozen=True)
class RatersOfTwoTastes:
    """Raters of one taste agree on which caption of an image is better; those of the other say the contrary."""

    images: int
    raters: int
    share: float
    """Of raters who have the taste to which the test model is better on three images of four."""
    slips: float = 0.0
    """The share of judgements that say neither instead."""

    @property
    def gain(self) -> float:
        """Of majorities of three raters, in points."""
        one, other = ((1 - self.slips) * share for share in (self.share, 1 - self.share))
        return 50 * (one**2 * (3 - 2 * one) - other**2 * (3 - 2 * other))

    def judged(self, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Signs and raters of three judgements of each image."""
        raters = drawn_raters(self.images, self.raters, rng)
        taste = np.where(rng.random(self.raters) < self.share, 1, -1)
        signs = np.where(rng.random((self.images, 1)) < 0.75, 1, -1) * taste[raters]
        return np.where(rng.random(signs.shape) < self.slips, 0, signs), raters


def drawn_raters(images: int, raters: int, rng: np.random.Generator) -> Whole:
    """Three different raters for each image, shape (images, 3)."""
    return np.argsort(rng.random((images, raters)), axis=1)[:, :RATERS]


def intervals_of(signs: Whole, raters: Whole, rng: np.random.Generator) -> tuple[Interval, Interval]:
    """Of a gain with these raters, and with other raters like them."""
    images, per_image = signs.shape
    image, said = np.repeat(np.arange(images), per_image), signs.ravel()
    outcomes = majority_outcomes((signs > 0).sum(axis=1), (signs < 0).sum(axis=1), np.full(images, per_image))
    columns = (image, raters.ravel(), said, moved_outcomes(said, image))
    others, _p = with_other_raters(DecidedImages(np.arange(images), outcomes, *columns))
    wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    return gain_interval(wins, losses, images, resamples=RESAMPLES, rng=rng), others


def bootstrap_of_gain(counts: Whole, rng: np.random.Generator) -> Interval:
    """Of wins, losses and other images, as it was until 0.2 however few they were."""
    images = counts.sum()
    draws = rng.multinomial(images, counts / images, size=RESAMPLES)
    low, high = np.quantile(100 * (draws[:, 0] - draws[:, 1]) / images, [0.025, 0.975])
    return Interval(float(low), float(high))


def apart_in_scores(images: int, *, better: float, runs: int, rng: np.random.Generator) -> Values:
    """What two models are apart by on each image, shape (runs, images): on average by `better` less 1.

    Images differ in how hard they are, and captions of one image by as much, as those of CIDEr do.
    """
    ease, ours, theirs = rng.gamma(2, 0.5, size=(3, runs, images))
    return np.asarray(ease * (better * ours - theirs))


def ratings_on_seven_points(images: int, raters: int, rng: np.random.Generator) -> tuple[Whole, Whole, Values]:
    """Images, raters and scores of raters who differ in what they prefer (by 12) and in how steady they are."""
    who = drawn_raters(images, raters, rng)
    noise = 30 * np.exp(0.3 * rng.standard_normal(raters))[who]
    latent = 25 * rng.standard_normal((images, 1)) + 12 * rng.standard_normal(raters)[who]
    scores = np.clip(np.round((latent + noise * rng.standard_normal(who.shape)) / 15), -3, 3)
    return np.repeat(np.arange(images), RATERS), who.ravel(), scores.ravel()


def judged_by_raters_who_like_a_model(
    rng: np.random.Generator, *, models: int, images: int, raters: int, liking: float, better: float = 0.0
) -> RankingOutcomes:
    """Models of which the first is `better`, all pairs, three raters an image; each rater has a liking for each."""
    likes, quality = liking * rng.standard_normal((raters, models)), 8 * rng.standard_normal((images, models))
    quality[:, 0] += better
    parts = []
    for number, (base, test) in enumerate(combinations(range(models), 2)):
        who = drawn_raters(images, raters, rng)
        apart = (quality[:, test] - quality[:, base])[:, None] + likes[who, test] - likes[who, base]
        signs = np.round(np.clip((apart + 30 * rng.standard_normal((images, 3))) / 24, -1, 1)).astype(int)
        outcome = majority_outcomes((signs > 0).sum(1), (signs < 0).sum(1), np.full(images, 3))
        image = np.repeat(np.arange(images), 3)
        moved = moved_outcomes(signs.ravel(), image)
        pair = (np.full(images, base), np.full(images, test))
        parts.append((np.arange(images), *pair, outcome, image + number * images, who.ravel(), moved, signs.ravel()))
    return RankingOutcomes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True)
class ModelLead:
    """Of one model over another: variances and degrees of freedom with these raters, and with others."""

    value: float
    these: tuple[float, float]
    others: tuple[float, float]
    raters: int

    @property
    def p_to_correct(self) -> float:
        """With other raters, as rankings take it before they correct it for all pairs."""
        variance, freedom = self.others
        return student_p(self.value, variance, freedom_to_correct(freedom, self.raters))

    @property
    def intervals(self) -> tuple[Interval, Interval]:
        return student_interval(self.value, *self.these), student_interval(self.value, *self.others)


def leads_of(outcomes: RankingOutcomes, *, models: int) -> list[ModelLead]:
    """Of each pair of models, in the order of `combinations`."""
    strengths = bradley_terry(win_table(outcomes, n_models=models))
    variances = StrengthVariances(outcomes, strengths)
    leads = []
    for first, second in combinations(range(models), 2):
        contrast = np.eye(models)[first] - np.eye(models)[second]
        lead = float(contrast @ strengths)
        found = variances.with_these_raters(contrast), variances.with_other_raters(contrast)
        leads.append(ModelLead(lead, *found, raters=len(np.unique(outcomes.rater))))
    return leads


@dataclass(frozen=True)
class SimulatedEvaluations:
    """Differences of two models by people and by a metric."""

    people: Values
    metric: Values
    compared: ComparedModels

    def without(self, *, coefficient: Coefficient, flip: bool, weights: Values | Whole | None = None) -> LeaveOneOut:
        return leave_one_out(
            self.people, self.metric, self.compared, coefficient=coefficient, flip=flip, weights=weights
        )


def all_pairs(people: Values, metric: Values) -> SimulatedEvaluations:
    """Of scores of shape (languages, models)."""
    languages, models = people.shape
    base, test = (np.tile(side, languages) for side in np.array(list(combinations(range(models), 2))).T)
    language = np.repeat(np.arange(languages), math.comb(models, 2))
    names = ([f"{kind}{number}" for number in numbers] for kind, numbers in (("m", base), ("m", test), ("l", language)))
    by_people, by_metric = (scores[language, test] - scores[language, base] for scores in (people, metric))
    return SimulatedEvaluations(by_people, by_metric, ComparedModels(*names))


def simulated(
    models: int, languages: int, *, rho: float, shared: float, rng: np.random.Generator
) -> SimulatedEvaluations:
    """`shared` of the variance of models' qualities and scores is the same in all languages."""

    def related(shape: tuple[int, int]) -> tuple[Values, Values]:
        quality = rng.standard_normal(shape)
        return quality, rho * quality + math.sqrt(1 - rho**2) * rng.standard_normal(shape)

    parts = zip(related((1, models)), related((languages, models)), strict=True)
    quality, scores = (math.sqrt(shared) * everywhere + math.sqrt(1 - shared) * here for everywhere, here in parts)
    return all_pairs(quality + NOISE * rng.standard_normal(quality.shape), scores)


def true_correlation(rho: float, coefficient: Coefficient) -> float:
    """Of all evaluations that `simulated` draws from."""
    return float(TRUE[coefficient](rho / math.sqrt(1 + NOISE**2)))


def bootstrap_over_evaluations(found: SimulatedEvaluations, rng: np.random.Generator) -> Interval:
    """Of Pearson's correlation with flipped signs, the cosine, as if evaluations were independent."""
    x, y = found.people, found.metric
    times = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), size=200)
    low, high = np.quantile((times @ (x * y)) / np.sqrt((times @ (x * x)) * (times @ (y * y))), [0.025, 0.975])
    return Interval(float(low), float(high))


def bootstrapped_means(values: Values, rng: np.random.Generator) -> Values:
    """Of 300 resamples of few units."""
    units = len(values)
    return np.asarray(rng.multinomial(units, np.full(units, 1 / units), size=300) @ values / units)
