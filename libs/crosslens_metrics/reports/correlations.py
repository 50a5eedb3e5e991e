"""The agreement of metrics with people that a table shows, for a terminal and for programs: docs/researchers.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.formats.tables import TextTable
from crosslens_metrics.language_tags import comparable
from crosslens_metrics.reports.evaluation_points import (
    USUAL_COLUMNS,
    EvaluationColumns,
    EvaluationFacts,
    PointRules,
    facts_of,
    repeats_of,
    unlike_points,
)
from crosslens_metrics.reports.figures import (
    CERTAIN,
    ReportFigure,
    UndefinedScore,
    as_json,
    rounded_number,
    table_lines,
    with_interval,
)
from crosslens_metrics.reports.metric_agreement import (
    DifferenceFigure,
    EvaluationPoints,
    MetricAgreement,
    MetricDifferences,
    TestFigure,
    agreement,
    corrected_tests,
    differences_of,
)
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval

RESAMPLES = 1_000
P_DIGITS = 4
MAX_LINES = 10
"""Of a note."""
ALL, GROUP, REST = "all", "group", "rest"


@dataclass(frozen=True)
class EvaluationPart:
    """Evaluations that are looked at by themselves; `chosen` has a truth value for each evaluation."""

    key: str
    name: str
    chosen: NDArray[np.bool_]


def is_mirrored(human: Sequence[Decimal], metric: Sequence[Decimal]) -> bool:
    """Whether each point comes as often as its mirror image: the signs were flipped before."""
    points = Counter(zip(human, metric, strict=True))
    return len(points) > 1 and points == Counter({(-x, -y): times for (x, y), times in points.items()})


@dataclass(frozen=True)
class LeftOutEvaluations(ReportFigure):
    """How many evaluations are no points of a metric: repeated, without a figure, with few images, or chosen by it."""

    repeated: int
    missing: int
    few_images: int
    chosen: int


@dataclass(frozen=True)
class CorrelationReport:
    """`parts` are names by key; `agreements` by key of the part and metric; `left_out` by metric; `differences` are
    over all evaluations; `unlike` says, by metric, in what its evaluations differ that should be the same.
    """

    human: str
    parts: dict[str, str]
    agreements: dict[str, dict[str, MetricAgreement]]
    differences: tuple[MetricDifferences, ...]
    left_out: dict[str, LeftOutEvaluations]
    unlike: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    rules: PointRules
    seed: int
    resamples: int | None

    @property
    def over_evaluations(self) -> SamplingDesign:
        return SamplingDesign(Method.BOOTSTRAP, {Factor.EVALUATION: self.agreements[ALL][self.metrics[0]].evaluations})

    @property
    def metrics(self) -> list[str]:
        return list(self.agreements[ALL])

    def as_json(self) -> dict[str, Any]:
        return {
            "human": self.human,
            "flip": self.rules.flip,
            "min_images": self.rules.min_images,
            "weights": "images" if self.rules.is_weighted else None,
            "with_chosen": self.rules.with_chosen,
            "as_published": self.rules.is_published,
            "parts": [
                {
                    "part": key,
                    "name": self.parts[key],
                    "metrics": {name: agreed.as_json() for name, agreed in by_metric.items()},
                }
                for key, by_metric in self.agreements.items()
            ],
            "differences": [difference.as_json() for difference in self.differences],
            "left_out": as_json(self.left_out),
            "unlike": as_json(self.unlike),
            "notes": list(self.notes),
            "intervals": None
            if self.resamples is None
            else {
                "level": 0.95,
                "over_evaluations": {
                    "words": self.over_evaluations.words,
                    "resamples": self.resamples,
                    "seed": self.seed,
                },
            },
        }

    def lines(self, *, digits: int) -> Iterator[str]:
        yield f"People: {self.human}. " + (
            "Each evaluation is two points, as it is and with both signs flipped."
            if self.rules.flip
            else "Each evaluation is one point: signs are not flipped."
        )
        if self.rules.is_weighted:
            yield "Evaluations count as often as they have complete images; p is of evaluations that count alike."
        if self.resamples is not None:
            yield (
                f"Over evaluations: 95% interval, {self.over_evaluations.words}, {self.resamples} resamples, "
                f"seed {self.seed}."
            )
        yield from (f"Note: {note}" for note in self.notes)
        for name, parts in self.unlike.items():
            if parts:
                yield f"Note: evaluations by {name} should not be compared, because they differ in {'; '.join(parts)}."
        for key, by_metric in self.agreements.items():
            yield ""
            yield self.parts[key]
            yield from table_lines(_rows(by_metric, digits))
            yield from _designs(by_metric)
            yield from _reasons(by_metric)
        if self.differences:
            yield ""
            pairs = f"{len(self.differences)} pairs" if len(self.differences) > 1 else "one pair"
            yield f"Differences of Fisher’s z of two metrics, with 95% intervals, p and Holm’s p over {pairs}"
            yield from table_lines(
                [
                    ["", "evaluations", *Coefficient],
                    *(
                        [
                            f"{one.first} - {one.second}",
                            str(one.evaluations),
                            *(_difference(figure, digits) for figure in one.coefficients.values()),
                        ]
                        for one in self.differences
                    ),
                ]
            )


def correlations_of(
    table: TextTable,
    *,
    human: str,
    metrics: Sequence[str],
    group: tuple[str, Sequence[str]] | None,
    rules: PointRules,
    skip_missing: bool,
    resamples: int | None,
    seed: int,
    others: Sequence[str] = (),
    columns: EvaluationColumns = USUAL_COLUMNS,
) -> CorrelationReport:
    """All figures of a table.

    - `human`: the column of people's gains.
    - `metrics`: the columns of metrics' differences.
    - `group`: a column and its values: the figures are also given over these evaluations, and over the rest.
    - `skip_missing`: whether evaluations without a figure are left out.
    - `resamples`: None for no intervals.
    - `others`: the columns of further metrics, of which each of `metrics` has its difference.

    Raises FileRefusedError where it lacks a column, or a figure that is not to be skipped.
    """
    people_at, shown = table.place(human), list(dict.fromkeys(map(table.place, metrics)))
    places = list(dict.fromkeys([*shown, *map(table.place, others)]))
    people, automatic = _numbers(table, people_at, places)
    if not skip_missing:
        said = "has no figure. Fill it in, or leave such rows out by --skip-missing."
        if problems := table.lacking({people_at: people, **automatic}, said):
            raise FileProblemsError(problems)
    facts = facts_of(table, columns, rules)
    parts, notes = _parts(table, group)
    repeats = repeats_of(table, facts.compared, {people_at: people, **automatic})
    notes = [*facts.notes, *notes, *_on_repeats(table, repeats)]
    agreements: dict[str, dict[str, MetricAgreement]] = {part.key: {} for part in parts}
    left_out: dict[str, LeftOutEvaluations] = {}
    unlike: dict[str, tuple[str, ...]] = {}
    used: dict[str, NDArray[np.bool_]] = {}
    points: dict[str, EvaluationPoints] = {}
    for place, scores in automatic.items():
        name = table.columns[place]
        there = np.array([a is not None and b is not None for a, b in zip(people, scores, strict=True)], dtype=bool)
        left_out[name], used[name] = _left_out(name, there, facts, rules, repeats)
        points[name] = EvaluationPoints(
            _as_floats(people), _as_floats(scores), facts.compared, facts.images if rules.is_weighted else None
        )
        if place not in shown:
            continue
        unlike[name] = tuple(unlike_points(table, columns, name, used[name]))
        notes.extend(_said(human, name, left_out[name], len(there), rules))
        if rules.flip and is_mirrored(_exact(people, used[name]), _exact(scores, used[name])):
            notes.append(f"The points of {name} hold all their mirror images already: give --no-flip.")
        for part in parts:
            agreements[part.key][name] = agreement(
                points[name].of(used[name] & part.chosen), flip=rules.flip, resamples=resamples, seed=seed
            )
    # Among the metrics shown each pair once, and each of them with each of the others.
    pairs = [pair for pair in combinations(points, 2) if pair[0] in agreements[ALL]]
    if resamples is None or facts.compared is None:
        pairs = []
    return CorrelationReport(
        human=table.columns[people_at],
        parts={part.key: part.name for part in parts},
        agreements={part: corrected_tests(by_metric) for part, by_metric in agreements.items()},
        differences=differences_of(points, used, pairs, flip=rules.flip),
        left_out=left_out,
        unlike=unlike,
        notes=tuple(notes),
        rules=rules,
        seed=seed,
        resamples=resamples,
    )


def _left_out(
    metric: str, there: NDArray[np.bool_], facts: EvaluationFacts, rules: PointRules, repeats: Mapping[int, int]
) -> tuple[LeftOutEvaluations, NDArray[np.bool_]]:
    """Each evaluation for the first reason that it is left out, and which are left."""
    left, counts = np.ones(len(there), dtype=bool), []
    is_first = np.array([place not in repeats for place in range(len(there))], dtype=bool)
    for is_kept in (is_first, there, facts.is_large(rules), facts.is_independent_of(metric, rules)):
        counts.append(int((left & ~is_kept).sum()))
        left &= is_kept
    return LeftOutEvaluations(*counts), left


def _on_repeats(table: TextTable, repeats: Mapping[int, int]) -> Iterator[str]:
    lines = [f"{table.rows[place].line} (line {table.rows[first].line})" for place, first in repeats.items()]
    if lines:
        more = f" and {len(lines) - MAX_LINES} more" if len(lines) > MAX_LINES else ""
        yield (
            "Two models in a language count once, either way round. Left out are lines that repeat an earlier one: "
            f"{', '.join(lines[:MAX_LINES])}{more}."
        )


def _said(human: str, name: str, left: LeftOutEvaluations, total: int, rules: PointRules) -> Iterator[str]:
    if left.missing:
        yield f"{left.missing} of {total} evaluations lack {human} or {name}, and are left out of it."
    if left.few_images:
        yield (
            f"{left.few_images} of {total} evaluations have fewer than {rules.min_images} images, and are left out of "
            f"{name}."
        )
    if left.chosen:
        yield (
            f"{left.chosen} of {total} evaluations were chosen by {name} or an unnamed metric, and are left out of it: "
            "--with-chosen keeps them."
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


def _as_floats(numbers: Sequence[Decimal | None]) -> NDArray[np.float64]:
    """Those that are missing, which are never used, as zero."""
    return np.array([float(number or 0) for number in numbers])


def _exact(numbers: Sequence[Decimal | None], there: Iterable[bool]) -> list[Decimal]:
    return [number for number, is_there in zip(numbers, there, strict=True) if is_there and number is not None]


def _rows(by_metric: Mapping[str, MetricAgreement], digits: int) -> list[list[str]]:
    agreed = list(by_metric.values())
    rows = [["", *by_metric], ["evaluations", *(str(one.evaluations) for one in agreed)]]
    rows.append(["points (N)", *(str(one.points) for one in agreed)])
    if any(one.design is not None for one in agreed):
        rows.append(["models", *(str(one.models) for one in agreed)])
        rows.append(["languages", *(str(one.languages) for one in agreed)])
    for coefficient in Coefficient:
        figures = [one.coefficients[coefficient] for one in agreed]
        rows.append([coefficient, *(with_interval(one.value, one.interval, digits, ends=CERTAIN) for one in figures)])
        if any(one.test for one in figures):
            rows.append(["  p", *(_p(one.test, "p") for one in figures)])
            if len(figures) > 1:
                rows.append(["  p, Holm", *(_p(one.test, "holm") for one in figures)])
        if any(one.over_evaluations for one in figures):
            rows.append(["  over evaluations", *(_bounds(one.over_evaluations, digits) for one in figures)])
    return rows


def _p(test: TestFigure | UndefinedScore | None, name: str) -> str:
    if test is None:
        return ""
    return "undefined" if isinstance(test, UndefinedScore) else rounded_number(getattr(test, name), P_DIGITS)


def _bounds(interval: Interval | UndefinedScore | None, digits: int) -> str:
    return "" if interval is None else with_interval(0.0, interval, digits, ends=CERTAIN).partition(" ")[2]


def _difference(figure: DifferenceFigure | UndefinedScore, digits: int) -> str:
    if isinstance(figure, UndefinedScore):
        return "undefined"
    tests = f"p {rounded_number(figure.p, P_DIGITS)}, Holm {rounded_number(figure.holm, P_DIGITS)}"
    return f"{with_interval(figure.z, figure.interval, digits)} {tests}"


def _designs(by_metric: Mapping[str, MetricAgreement]) -> Iterator[str]:
    """What intervals in brackets hold for, once for all metrics of which that is the same."""
    texts: dict[str, list[str]] = {}
    for name, agreed in by_metric.items():
        if isinstance(agreed.design, SamplingDesign) and any(one.interval for one in agreed.coefficients.values()):
            text = f"In brackets: 95% interval, {agreed.design.words}, {agreed.degrees_of_freedom} degrees of freedom."
            texts.setdefault(text, []).append(name)
        if agreed.smallest_p is not None:
            smallest = rounded_number(agreed.smallest_p, P_DIGITS)
            text = f"p: models change places; with {agreed.models} models no p-value below {smallest} is possible."
            texts.setdefault(text, []).append(name)
    yield from (f"  {', '.join(names)}: {text}" for text, names in texts.items())


def _reasons(by_metric: Mapping[str, MetricAgreement]) -> Iterator[str]:
    """Why figures are undefined, each reason once for all coefficients of a metric that have it."""
    for name, agreed in by_metric.items():
        reasons: dict[str, list[str]] = {}
        for coefficient, one in agreed.coefficients.items():
            whats = ("", "interval of ", "p of ", "interval over evaluations of ")
            for what, figure in zip(whats, (one.value, one.interval, one.test, one.over_evaluations), strict=True):
                if isinstance(figure, UndefinedScore):
                    reasons.setdefault(figure.message, []).append(what + coefficient)
        yield from (f"  undefined for {name}: {', '.join(figures)}. {reason}" for reason, figures in reasons.items())
