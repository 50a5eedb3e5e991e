"""The agreement of metrics with people that a table shows, for a terminal and for programs: docs/researchers.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.correlation_intervals import correlation_interval
from crosslens_metrics.correlations import Coefficient, correlation
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.formats.tables import TextTable
from crosslens_metrics.language_tags import comparable
from crosslens_metrics.reports.figures import (
    ReportFigure,
    UndefinedScore,
    as_json,
    table_lines,
    value_or_reason,
    with_interval,
)
from crosslens_metrics.sampling.intervals import Interval

RESAMPLES = 10_000
ALL, GROUP, REST = "all", "group", "rest"
METHOD = "percentile bootstrap over evaluations"


@dataclass(frozen=True)
class CorrelationFigure(ReportFigure):
    """A coefficient with its 95% interval; None where no interval was asked for."""

    value: float | UndefinedScore
    interval: Interval | UndefinedScore | None


@dataclass(frozen=True)
class MetricAgreement(ReportFigure):
    """Points are two per evaluation where signs were flipped too, else one."""

    evaluations: int
    points: int
    coefficients: dict[Coefficient, CorrelationFigure]

    def as_json(self) -> dict[str, Any]:
        of_each = {str(coefficient): as_json(value) for coefficient, value in self.coefficients.items()}
        return {"evaluations": self.evaluations, "points": self.points} | of_each


@dataclass(frozen=True)
class EvaluationPart:
    """Evaluations that are looked at by themselves; `chosen` has a truth value for each evaluation."""

    key: str
    name: str
    chosen: NDArray[np.bool_]


def agreement(human: ArrayLike, metric: ArrayLike, *, flip: bool, resamples: int | None, seed: int) -> MetricAgreement:
    """All coefficients of one metric with people.

    Every figure is resampled from the same seed, so that it does not depend on which others are asked for.

    Parameters
    ----------
    human, metric : array_like of float, shape (n_evaluations,)
        Differences of the same pairs of models.
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    resamples : int or None
        None for no intervals.
    seed : int
        May be negative.

    Returns
    -------
    MetricAgreement
    """
    people, automatic = np.asarray(human, dtype=float), np.asarray(metric, dtype=float)

    def found(coefficient: Coefficient) -> CorrelationFigure:
        value = value_or_reason(lambda: correlation(people, automatic, coefficient=coefficient, flip=flip))
        if resamples is None or isinstance(value, UndefinedScore):
            return CorrelationFigure(value, None)
        interval = value_or_reason(
            lambda: correlation_interval(
                people,
                automatic,
                coefficient=coefficient,
                flip=flip,
                resamples=resamples,
                rng=np.random.default_rng(seed % 2**64),
            )
        )
        return CorrelationFigure(value, interval)

    return MetricAgreement(
        evaluations=len(people),
        points=len(people) * (2 if flip else 1),
        coefficients={coefficient: found(coefficient) for coefficient in Coefficient},
    )


def is_mirrored(human: Sequence[Decimal], metric: Sequence[Decimal]) -> bool:
    """Whether each point comes as often as its mirror image: the signs were flipped before."""
    points = Counter(zip(human, metric, strict=True))
    return len(points) > 1 and points == Counter({(-x, -y): times for (x, y), times in points.items()})


@dataclass(frozen=True)
class CorrelationReport:
    """`parts` are names by key; `agreements` by key of the part and metric; `left_out` evaluations by metric."""

    human: str
    parts: dict[str, str]
    agreements: dict[str, dict[str, MetricAgreement]]
    left_out: dict[str, int]
    notes: tuple[str, ...]
    flip: bool
    seed: int
    resamples: int | None

    def as_json(self) -> dict[str, Any]:
        return {
            "human": self.human,
            "flip": self.flip,
            "parts": [
                {
                    "part": key,
                    "name": self.parts[key],
                    "metrics": {name: agreed.as_json() for name, agreed in by_metric.items()},
                }
                for key, by_metric in self.agreements.items()
            ],
            "left_out": self.left_out,
            "notes": list(self.notes),
            "intervals": None
            if self.resamples is None
            else {"method": METHOD, "level": 0.95, "resamples": self.resamples, "seed": self.seed},
        }

    def lines(self, *, digits: int) -> Iterator[str]:
        yield f"People: {self.human}. " + (
            "Each evaluation is two points, as it is and with both signs flipped."
            if self.flip
            else "Each evaluation is one point: signs are not flipped."
        )
        if self.resamples is not None:
            yield f"In brackets: 95% intervals, {METHOD}, {self.resamples} resamples, seed {self.seed}."
        yield from (f"Note: {note}" for note in self.notes)
        for key, by_metric in self.agreements.items():
            yield ""
            yield self.parts[key]
            yield from table_lines(
                [
                    ["", *by_metric],
                    ["evaluations", *(str(agreed.evaluations) for agreed in by_metric.values())],
                    ["points (N)", *(str(agreed.points) for agreed in by_metric.values())],
                    *(_row(coefficient, by_metric, digits) for coefficient in Coefficient),
                ]
            )
            yield from _reasons(by_metric)


def correlations_of(
    table: TextTable,
    *,
    human: str,
    metrics: Sequence[str],
    group: tuple[str, Sequence[str]] | None,
    flip: bool,
    skip_missing: bool,
    resamples: int | None,
    seed: int,
) -> CorrelationReport:
    """All figures of a table.

    Parameters
    ----------
    table : TextTable
    human : str
        The column of people's gains.
    metrics : sequence of str
        The columns of metrics' differences.
    group : tuple of str and sequence of str, or None
        A column and its values: the figures are also given over these evaluations, and over the rest.
    flip : bool
        Whether each evaluation also gives the point with both signs flipped.
    skip_missing : bool
        Whether evaluations without a figure are left out.
    resamples : int or None
        None for no intervals.
    seed : int

    Returns
    -------
    CorrelationReport

    Raises
    ------
    FileRefusedError
        Where it lacks a column, or a figure that is not to be skipped.
    """
    people_at, places = table.place(human), list(dict.fromkeys(map(table.place, metrics)))
    people, automatic = _numbers(table, people_at, places)
    if not skip_missing:
        said = "has no figure. Fill it in, or leave such rows out by --skip-missing."
        if problems := table.lacking({people_at: people, **automatic}, said):
            raise FileProblemsError(problems)
    parts, notes = _parts(table, group)
    agreements: dict[str, dict[str, MetricAgreement]] = {part.key: {} for part in parts}
    left_out: dict[str, int] = {}
    for place, scores in automatic.items():
        name = table.columns[place]
        there = np.array([a is not None and b is not None for a, b in zip(people, scores, strict=True)], dtype=bool)
        left_out[name] = int((~there).sum())
        if left_out[name]:
            notes.append(
                f"{left_out[name]} of {len(there)} evaluations lack {human} or {name}, and are left out of it."
            )
        x, y = _exact(people, there), _exact(scores, there)
        if flip and is_mirrored(x, y):
            notes.append(f"The points of {name} hold all their mirror images already: give --no-flip.")
        for part in parts:
            chosen = part.chosen[there]
            agreements[part.key][name] = agreement(
                np.array(x, dtype=float)[chosen],
                np.array(y, dtype=float)[chosen],
                flip=flip,
                resamples=resamples,
                seed=seed,
            )
    return CorrelationReport(
        human=table.columns[people_at],
        parts={part.key: part.name for part in parts},
        agreements=agreements,
        left_out=left_out,
        notes=tuple(notes),
        flip=flip,
        seed=seed,
        resamples=resamples,
    )


def _numbers(
    table: TextTable, people_at: int, places: Sequence[int]
) -> tuple[tuple[Decimal | None, ...], dict[int, tuple[Decimal | None, ...]]]:
    """Return people's numbers, and those of each metric; errors of all columns are reported at once."""
    numbers: dict[int, tuple[Decimal | None, ...]] = {}
    problems: list[LineError] = []
    for place in dict.fromkeys([people_at, *places]):
        try:
            numbers[place] = table.numbers(place)
        except FileProblemsError as refused:
            problems.extend(refused.problems)
    if problems:
        raise FileProblemsError(problems)
    return numbers[people_at], {place: numbers[place] for place in places}


def _parts(table: TextTable, group: tuple[str, Sequence[str]] | None) -> tuple[list[EvaluationPart], list[str]]:
    """All evaluations; with a group those whose cell is one of its values, whatever its capitals, and the rest."""
    everything = EvaluationPart(ALL, "all", np.ones(len(table.rows), dtype=bool))
    if group is None:
        return [everything], []
    place, named = table.place(group[0]), ", ".join(group[1])
    cells, column = [comparable(cell) for cell in table.texts(place)], table.columns[place]
    notes = [f"No evaluation has {column} {value}." for value in group[1] if comparable(value) not in cells]
    empty = cells.count("")
    if empty:
        notes.append(f"{empty} evaluations have no {column}; they are not in the group.")
    wanted = {comparable(value) for value in group[1]}
    chosen = np.array([cell in wanted for cell in cells], dtype=bool)
    in_group = EvaluationPart(GROUP, f"{column} is {named}", chosen)
    return [everything, in_group, EvaluationPart(REST, f"{column} is not {named}", ~chosen)], notes


def _exact(numbers: Sequence[Decimal | None], there: Iterable[bool]) -> list[Decimal]:
    return [number for number, is_there in zip(numbers, there, strict=True) if is_there and number is not None]


def _row(coefficient: Coefficient, by_metric: Mapping[str, MetricAgreement], digits: int) -> list[str]:
    coefficients = [agreed.coefficients[coefficient] for agreed in by_metric.values()]
    return [coefficient, *(with_interval(one.value, one.interval, digits) for one in coefficients)]


def _reasons(by_metric: Mapping[str, MetricAgreement]) -> Iterator[str]:
    """Why figures are undefined, each reason once for all coefficients of a metric that have it."""
    for name, agreed in by_metric.items():
        reasons: dict[str, list[str]] = {}
        for coefficient, one in agreed.coefficients.items():
            for what, figure in (("", one.value), ("interval of ", one.interval)):
                if isinstance(figure, UndefinedScore):
                    reasons.setdefault(figure.message, []).append(what + coefficient)
        yield from (f"  undefined for {name}: {', '.join(figures)}. {reason}" for reason, figures in reasons.items())
