"""The tables of coverage: their rows, and what each row measures. `python -m tools.coverage` writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Any

import numpy as np

from crosslens_metrics.agreement import alpha_interval, alpha_of_ratings, alpha_with_other_raters
from crosslens_metrics.correlation_intervals import correlation_interval
from crosslens_metrics.correlation_permutations import permutation_test
from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.gains import gain_interval, random_effects
from crosslens_metrics.paired import paired_difference
from crosslens_metrics.sampling.intervals import LEVEL, middle_of, share_bounds, wilson_interval
from crosslens_metrics.sampling.significance import holm, student_p
from crosslens_metrics.sampling.variance import ratio_bounds
from crosslens_metrics.undefined import UndefinedFigureError
from tools.coverage import simulations

LEAST, MOST, MOST_FALSE = 93, 97, 6
"""In percent: of runs in which an interval holds the truth, and of those in which a difference is falsely found."""
STANDARD_ERRORS = 2
"""Of the simulation by which a cell may be outside before it counts as wrong."""
TURNS = 20
BETTER = 8
"""Points by which the first of the models is better, where one is."""
ALPHA_OF_RATERS = 5
"""Samples of 4,000 images and 1,000 raters from which the true alpha is taken."""
COEFFICIENTS = (Coefficient.PEARSON, Coefficient.SPEARMAN, Coefficient.KENDALL)
NOTHING = "–"


class CellRule(Enum):
    """What a share of runs should be."""

    HOLDS = "between the bounds"
    IS_RARE = "a false finding"
    IS_OLD = "an old figure, for comparison"


@dataclass(frozen=True)
class RunShare:
    """In how many of the runs an interval held the truth, or something was found."""

    hits: int
    runs: int
    rule: CellRule
    refused: int = 0

    @classmethod
    def of(cls, runs: Sequence[bool | None], rule: CellRule) -> RunShare:
        """None is a run in which the interval was refused."""
        return cls(sum(run is True for run in runs), len(runs), rule, sum(run is None for run in runs))

    @property
    def percent(self) -> float:
        """Of all runs: one in which an interval is refused does not hold the truth."""
        return 100 * self.hits / self.runs

    @property
    def text(self) -> str:
        share = 100 * self.refused / self.runs
        return f"{self.percent:.0f}" + (f" ({share:.0f})" if share >= 0.5 else "")

    @property
    def given(self) -> float:
        """In percent of the runs that have an interval."""
        return 100 * self.hits / (self.runs - self.refused) if self.runs > self.refused else 100.0

    @property
    def is_wrong(self) -> bool:
        """Whether intervals that were given fall short, or findings are too many."""
        if self.rule is CellRule.IS_RARE:
            return self.percent > MOST_FALSE + self._error(MOST_FALSE)
        return self.rule is CellRule.HOLDS and self.given < LEAST - self._error(LEAST)

    @property
    def is_wide(self) -> bool:
        return self.rule is CellRule.HOLDS and round(self.given) > MOST

    def _error(self, percent: float) -> float:
        return STANDARD_ERRORS * math.sqrt(percent * (100 - percent) / self.runs)


Cell = str | RunShare


@dataclass(frozen=True)
class CoverageTable:
    """A table of the guide; `measure` takes one of its `rows` and a number of runs, and gives the further cells."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    runs: int
    measure: Callable[..., Iterable[Cell]]

    def cells(self, row: tuple[Any, ...], *, runs: int | None = None) -> list[Cell]:
        """The same each time: the seed is the name of the table and the number of the row."""
        rng = np.random.default_rng([*self.name.encode(), self.rows.index(row)])
        return [*map(str, row), *self.measure(*row, runs=runs or self.runs, rng=rng)]


def gains(images: int, raters: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    for spread in (0, 6, 12):
        study = simulations.RatersWhoDiffer(images, raters, spread)
        these, others = zip(*(simulations.intervals_of(*study.judged(rng), rng) for _ in range(runs)), strict=True)
        yield RunShare.of([interval.holds(0) for interval in these], CellRule.IS_OLD)
        yield RunShare.of([interval.holds(0) for interval in others], CellRule.HOLDS)
        yield f"{np.mean([interval.width for interval in others]) / 2:.0f}"


def few(images: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    for wins, losses in ((0.5, 0.5), (0.4, 0.2), (0.87, 0.03), (0.06, 0.04)):
        studies = rng.multinomial(images, [wins, losses, 1 - wins - losses], size=runs)
        true = round(100 * (wins - losses), 6)
        old = [simulations.bootstrap_of_gain(counts, rng) for counts in studies]
        new = [
            gain_interval(int(won), int(lost), images, resamples=simulations.RESAMPLES, rng=rng)
            for won, lost, _neither in studies
        ]
        for intervals, rule in ((old, CellRule.IS_OLD), (new, CellRule.HOLDS)):
            yield RunShare.of([interval.holds(true) for interval in intervals], rule)


def tastes(images: int, raters: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    for share, slips in ((0.7, 0), (0.7, 0.01), (0.7, 0.05), (0.9, 0)):
        study = simulations.RatersOfTwoTastes(images, raters, share, slips)
        these, others = zip(*(simulations.intervals_of(*study.judged(rng), rng) for _ in range(runs)), strict=True)
        yield RunShare.of([interval.holds(study.gain) for interval in these], CellRule.IS_OLD)
        yield RunShare.of([interval.holds(study.gain) for interval in others], CellRule.HOLDS)


def alpha(images: int, raters: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    large = [simulations.ratings_on_seven_points(4_000, 1_000, rng) for _ in range(ALPHA_OF_RATERS)]
    true = float(np.mean([alpha_of_ratings(unit, score, level="ordinal") for unit, _, score in large]))
    these, others = [], []
    for _ in range(runs):
        unit, who, score = simulations.ratings_on_seven_points(images, raters, rng)
        these.append(alpha_interval(unit, score, level="ordinal", resamples=300, rng=rng).holds(true))
        others.append(alpha_with_other_raters(unit, who, score, level="ordinal").holds(true))
    yield RunShare.of(these, CellRule.IS_OLD)
    yield RunShare.of(others, CellRule.HOLDS)


def means(languages: int, images: str, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    for spread in (0, 5):
        study = simulations.LanguagesOfImages(languages, spread, is_shared=images == "shared")
        found = [study.outcomes(rng) for _ in range(runs)]
        apart = [np.arange(len(outcome)) + len(outcome) * place for place, outcome in enumerate(found[0][1])]
        yield RunShare.of([random_effects(apart, one)[1].holds(0) for _, one in found], CellRule.IS_OLD)
        intervals = [random_effects(*one)[1] for one in found]
        yield RunShare.of([interval.holds(0) for interval in intervals], CellRule.HOLDS)
        yield f"{np.mean([interval.width for interval in intervals]) / 2:.0f}"


def rankings(
    models: int, images: int, raters: int, liking: float, *, runs: int, rng: np.random.Generator
) -> Iterable[Cell]:
    these, others, found_by_these, found_by_others, found_better = [], [], [], [], []
    for _ in range(runs):
        outcomes = simulations.judged_by_raters_who_like_a_model(
            rng, models=models, images=images, raters=raters, liking=liking
        )
        leads = simulations.leads_of(outcomes, models=models)
        for lead in leads:
            with_these, with_others = lead.intervals
            these.append(with_these.holds(0))
            others.append(with_others.holds(0))
        found_by_these.append(min(student_p(lead.value, *lead.these) for lead in leads) < 1 - LEVEL)
        found_by_others.append(bool(holm([lead.p_to_correct for lead in leads]).min() < 1 - LEVEL))
    for _ in range(runs):
        outcomes = simulations.judged_by_raters_who_like_a_model(
            rng, models=models, images=images, raters=raters, liking=liking, better=BETTER
        )
        corrected = holm([lead.p_to_correct for lead in simulations.leads_of(outcomes, models=models)])
        # Pairs with the first model come first.
        found_better.extend((corrected[: models - 1] < 1 - LEVEL).tolist())
    yield RunShare.of(these, CellRule.IS_OLD)
    yield RunShare.of(others, CellRule.HOLDS)
    yield RunShare.of(found_by_these, CellRule.IS_OLD)
    yield RunShare.of(found_by_others, CellRule.IS_RARE)
    yield f"{100 * np.mean(found_better):.0f}"


def correlations(
    models: int, languages: int, shared: str, flip: str, *, runs: int, rng: np.random.Generator
) -> Iterable[Cell]:
    part, is_flipped = int(shared.removesuffix("%")) / 100, flip == "yes"
    old, found = [], []
    held: dict[tuple[Coefficient, float], list[bool | None]] = {}
    for rho, _run in product((0.0, 0.7), range(runs)):
        study = simulations.simulated(models, languages, rho=rho, shared=part, rng=rng)
        for coefficient in COEFFICIENTS:
            cell = held.setdefault((coefficient, rho), [])
            try:
                interval = correlation_interval(study.without(coefficient=coefficient, flip=is_flipped))
            except UndefinedFigureError:
                cell.append(None)
            else:
                cell.append(interval.holds(simulations.true_correlation(rho, coefficient)))
        if rho == 0:
            test = permutation_test(
                study.people, study.metric, study.compared, coefficient=Coefficient.PEARSON, flip=is_flipped, rng=rng
            )
            found.append(test.p <= 1 - LEVEL)
            if is_flipped:
                old.append(simulations.bootstrap_over_evaluations(study, rng).holds(0))
    for cell in held.values():
        yield RunShare.of(cell, CellRule.HOLDS)
    yield RunShare.of(old, CellRule.IS_OLD) if old else NOTHING
    yield RunShare.of(found, CellRule.IS_RARE)


def scores(images: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    false: list[Cell] = []
    for better in (1.0, 1.3):
        truth, old, held, by_bootstrap, by_permutation = better - 1, [], [], [], []
        for apart in simulations.apart_in_scores(images, better=better, runs=runs, rng=rng):
            found = paired_difference(apart, np.zeros(images), method="permutation", resamples=300, rng=rng)
            resampled = simulations.bootstrapped_means(apart, rng)
            held.append(found.interval is not None and found.interval.holds(truth))
            old.append(middle_of(resampled).holds(truth))
            by_bootstrap.append(
                bool(np.mean(np.abs(resampled - found.difference) >= abs(found.difference)) <= 1 - LEVEL)
            )
            by_permutation.append(found.p <= 1 - LEVEL)
        yield RunShare.of(old, CellRule.IS_OLD)
        yield RunShare.of(held, CellRule.HOLDS)
        false = false or [RunShare.of(by_bootstrap, CellRule.IS_OLD), RunShare.of(by_permutation, CellRule.IS_RARE)]
    yield from false


def game(players: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    for parameters in ((2, 2), (9, 1)):
        truth = parameters[0] / sum(parameters)
        right = rng.binomial(TURNS, rng.beta(*parameters, size=(players, runs)))
        low, high = share_bounds(right.sum(axis=0), np.full(runs, players * TURNS))
        yield RunShare.of(((low <= truth) & (truth <= high)).tolist(), CellRule.IS_OLD)
        yield RunShare.of(_bootstrap(right / TURNS, truth, rng), CellRule.IS_OLD)
        yield RunShare.of(_over_units(right, np.full(right.shape, TURNS), truth), CellRule.HOLDS)


def quality(authors: int, *, runs: int, rng: np.random.Generator) -> Iterable[Cell]:
    truth = 0.8
    for alike in (0.05, 0.1):
        others = 1 / alike - 1
        captions = rng.integers(30, 91, size=(authors, runs))
        good = rng.binomial(captions, rng.beta(truth * others, (1 - truth) * others, size=captions.shape))
        counts = zip(good.sum(axis=0).tolist(), captions.sum(axis=0).tolist(), strict=True)
        yield RunShare.of([wilson_interval(*share).holds(truth) for share in counts], CellRule.IS_OLD)
        yield RunShare.of(_over_units(good, captions, truth), CellRule.HOLDS)


def _over_units(hits: np.ndarray, trials: np.ndarray, truth: float) -> list[bool | None]:
    low, high = ratio_bounds(hits, trials)
    return [
        None if same else bool(holds) for same, holds in zip(low == high, (low <= truth) & (truth <= high), strict=True)
    ]


def _bootstrap(shares: np.ndarray, truth: float, rng: np.random.Generator) -> list[bool | None]:
    """Of the mean over players, as it was until 0.2."""
    return [middle_of(simulations.bootstrapped_means(share, rng)).holds(truth) for share in shares.T]


TABLES = (
    CoverageTable(
        "gains", "gain with other raters",
        ("images", "raters", "these, *s* = 0", "others", "±", "these, *s* = 6", "others", "±", "these, *s* = 12",
         "others", "±"),
        tuple(product((20, 100, 600), (3, 5, 10, 30))), 2_000, gains,
    ),
    CoverageTable(
        "few", "gain of few images",
        ("images", "bootstrap, 50 and 50", "now", "40 and 20", "now", "87 and 3", "now", "6 and 4", "now"),
        ((2,), (4,), (7,), (10,), (20,), (40,), (100,)), 2_000, few,
    ),
    CoverageTable(
        "tastes", "gain with raters of two tastes",
        ("images", "raters", "these, 70%", "others", "1% slips", "others", "5% slips", "others", "these, 90%",
         "others"),
        tuple(product((24, 100, 600), (3, 5, 10, 30))), 1_000, tastes,
    ),
    CoverageTable(
        "alpha", "alpha with other raters", ("images", "raters", "with these raters", "with others"),
        tuple(product((50, 200), (4, 12, 30))), 500, alpha,
    ),
    CoverageTable(
        "means", "mean over comparisons",
        ("languages", "images", "old, spread 0", "now", "±", "old, spread 5", "now", "±"),
        tuple(product((4, 12, 36), ("shared", "apart"))), 1_000, means,
    ),
    CoverageTable(
        "rankings", "lead of two models with other raters",
        ("models", "images", "raters", "*s*", "with these raters", "with others", "any pair, plain p, these",
         "any pair, Holm, others", "one better, found"),
        ((4, 100, 5, 0), (4, 100, 5, 4), (4, 100, 5, 10), (8, 100, 10, 4), (8, 300, 10, 6), (4, 100, 3, 6),
         (4, 30, 30, 4), (4, 100, 3, 0), (4, 100, 3, 10), (4, 100, 10, 0), (4, 100, 10, 4), (4, 100, 10, 10)),
        500, rankings,
    ),
    CoverageTable(
        "correlations", "correlation over models",
        ("models", "languages", "shared", "flipped", "Pearson, 0", "Spearman", "Kendall", "Pearson, 0.67",
         "Spearman, 0.65", "Kendall, 0.47", "over evaluations, Pearson, 0", "p ≤ 0.05"),
        tuple(product((4, 8), (4, 12, 36), ("50%", "90%"), ("yes", "no"))), 800, correlations,
    ),
    CoverageTable(
        "scores", "difference of two scores over few images",
        ("images", "bootstrap, equal", "Student’s t", "bootstrap, 30% better", "Student’s t",
         "p ≤ 0.05, bootstrap", "p ≤ 0.05, permutation"),
        ((3,), (4,), (5,), (7,), (10,), (14,), (19,)), 4_000, scores,
    ),
    CoverageTable(
        "game", "share of the game over players",
        ("players", "over turns, ½", "bootstrap", "over players", "over turns, 0.9", "bootstrap", "over players"),
        ((2,), (3,), (5,), (10,), (20,)), 10_000, game,
    ),
    CoverageTable(
        "quality", "quality over authors",
        ("authors", "Wilson, 0.05", "over authors", "Wilson, 0.1", "over authors"),
        ((2,), (3,), (5,), (10,), (20,)), 10_000, quality,
    ),
)  # fmt: skip
