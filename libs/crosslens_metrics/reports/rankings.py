"""Ranks of models by proposed and standard metrics of a table, for a terminal and for programs: docs/researchers.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError
from crosslens_metrics.formats.tables import TextTable
from crosslens_metrics.model_ranks import LargestByChance, TiedRanks, largest_by_chance, model_ranks, rank_agreement
from crosslens_metrics.reports.figures import ReportFigure, UndefinedScore, rounded_number, table_lines, value_or_reason

MAX_SUMMED = 10
"""Metrics have 1,013 sums of two or more."""


def sums(columns: Mapping[str, Sequence[Fraction]]) -> dict[str, list[Fraction]]:
    """The sum of every two or more columns, named by its parts."""
    return {
        "+".join(parts): [sum(scores, Fraction()) for scores in zip(*(columns[part] for part in parts), strict=True)]
        for number in range(2, len(columns) + 1)
        for parts in combinations(columns, number)
    }


def same_but_for_rounding(
    total: Sequence[Fraction], parts: int, others: Mapping[str, Sequence[Decimal]]
) -> Iterator[tuple[str, Fraction]]:
    """Names of columns that hold the sum of so many `parts` as computed before these were rounded, and how far at most
    they are apart from the `total` of the rounded ones; `others` are columns as they are written.
    """
    for name, scores in others.items():
        decimals = max(-int(score.as_tuple().exponent) for score in scores)
        apart = max(abs(Fraction(score) - exact) for score, exact in zip(scores, total, strict=True))
        # Each part and the column itself are off by half a unit of the last place at most.
        if apart <= Fraction(parts + 1, 2) * Fraction(10) ** -decimals and len(set(scores)) > 1:
            yield name, apart


MODEL = "model"
P_DIGITS = 4
CORRELATION = {TiedRanks.MEAN: "Spearman's correlation", TiedRanks.COMPETITION: "Correlation"}
SHARED = {TiedRanks.MEAN: "the mean rank", TiedRanks.COMPETITION: "the best rank (1, 2, 2, 4)"}


@dataclass(frozen=True)
class ChanceFigure(LargestByChance, ReportFigure):
    """What chance gives, in words."""

    def lines(self, *, models: int, digits: int) -> Iterator[str]:
        what = f"the largest of these {self.coefficients} coefficients" if self.coefficients > 1 else "the coefficient"
        ways = f"all {self.permutations} ways" if self.is_exact else f"{self.permutations} ways that were drawn"
        p, smallest = (rounded_number(share, P_DIGITS) for share in (self.p, self.smallest))
        yield f"  By chance {what} is as far from 0 as {rounded_number(self.largest, digits)} with p = {p}:"
        yield f"  the standard scores of the models change places, in {ways}."
        yield f"  With {models} models no p-value below {smallest} is possible here."


@dataclass(frozen=True)
class RankReport(ReportFigure):
    """`left_out` models lack a score; `ranks` are by metric, 1 for the best, in the order of the models."""

    ties: TiedRanks
    models: tuple[str, ...]
    left_out: tuple[str, ...]
    correlations: dict[str, dict[str, float | UndefinedScore]]
    """Of the ranks, by proposed and by standard metric."""
    chance: ChanceFigure | UndefinedScore
    ranks: dict[str, tuple[float, ...]]
    notes: tuple[str, ...]

    def lines(self, *, digits: int) -> Iterator[str]:
        standard = list(next(iter(self.correlations.values())))
        what, shared = CORRELATION[self.ties], SHARED[self.ties]
        yield f"{what} of the ranks of {len(self.models)} models; equal scores share {shared}."
        yield from (f"Note: {note}" for note in self.notes)
        yield ""
        yield from table_lines(
            [
                ["", *standard],
                *(
                    [name, *(_cell(row[other], digits) for other in standard)]
                    for name, row in self.correlations.items()
                ),
            ]
        )
        yield from _reasons(self.correlations)
        if isinstance(self.chance, ChanceFigure):
            yield from self.chance.lines(models=len(self.models), digits=digits)
        yield ""
        yield "Ranks, 1 is the best"
        columns = [[name, *(f"{rank:g}" for rank in ranks)] for name, ranks in self.ranks.items()]
        yield from table_lines([list(row) for row in zip(["", *self.models], *columns, strict=True)])


def rankings_of(
    table: TextTable,
    *,
    proposed: Sequence[str],
    standard: Sequence[str],
    model: str | None,
    with_sums: bool,
    skip_missing: bool,
    ties: TiedRanks = TiedRanks.MEAN,
) -> RankReport:
    """All figures of a table.

    - `proposed` and `standard`: columns of scores.
    - `model`: the column of the models' names. Default: `model`, else the first that is no score.
    - `with_sums`: whether the sums of every two or more proposed metrics are ranked too.
    - `skip_missing`: whether models without a score are left out.
    - `ties`: which rank equal scores share.

    Raises FileRefusedError where it lacks a column, or a score that is not to be skipped; or where there are too many
    sums.
    """
    columns = {place: table.numbers(place) for place in dict.fromkeys(map(table.place, [*proposed, *standard]))}
    lacking = table.lacking(columns, "has no score. Fill it in, or leave such models out by --skip-missing.")
    if lacking and not skip_missing:
        raise FileProblemsError(lacking)
    left = {problem.number for problem in lacking}
    kept = [index for index, row in enumerate(table.rows) if row.line not in left]
    exact = {
        place: [Fraction(score) for score in (scores[index] for index in kept) if score is not None]
        for place, scores in columns.items()
    }
    names = _model_names(table, model, columns)
    judged = {table.columns[place]: exact[place] for place in map(table.place, proposed)}
    notes = [f"{len(left)} of {len(table.rows)} models lack a score, and are left out of everything."] if left else []
    if with_sums:
        if len(judged) > MAX_SUMMED:
            raise FileRefusedError(f"--sums takes {MAX_SUMMED} proposed metrics at most, not {len(judged)}.")
        added = sums(judged)
        notes.extend(_columns_of_sums(table, added, set(columns), kept))
        judged |= added
    others = {table.columns[place]: exact[place] for place in map(table.place, standard)}
    # From exact scores, so that models are tied where they are by the figures as written, of sums too.
    floats = {name: [float(score) for score in scores] for name, scores in {**others, **judged}.items()}

    def agreement(one: str, other: str) -> float | UndefinedScore:
        return value_or_reason(lambda: rank_agreement(floats[one], floats[other], ties=ties))

    def chance() -> ChanceFigure:
        tables = ([floats[name] for name in names] for names in (judged, others))
        return ChanceFigure(**asdict(largest_by_chance(*tables, ties=ties)))

    return RankReport(
        ties=ties,
        models=tuple(names[index] for index in kept),
        left_out=tuple(name for index, name in enumerate(names) if index not in kept),
        correlations={one: {other: agreement(one, other) for other in others} for one in judged},
        chance=value_or_reason(chance),
        ranks={name: tuple(model_ranks(scores, ties=ties).tolist()) for name, scores in floats.items()},
        notes=tuple(notes),
    )


def _model_names(table: TextTable, asked: str | None, columns: Mapping[int, object]) -> list[str]:
    """From the column asked for, else one named model, else the first that is no metric; else their lines."""
    place: int | None = None
    if asked is not None:
        place = table.place(asked)
    else:
        try:
            place = table.place(MODEL)
        except FileRefusedError:
            place = next((place for place in range(len(table.columns)) if place not in columns), None)
    cells = [""] * len(table.rows) if place is None else table.texts(place)
    return [cell.strip() or f"line {row.line}" for row, cell in zip(table.rows, cells, strict=True)]


def _columns_of_sums(
    table: TextTable, added: Mapping[str, Sequence[Fraction]], asked: set[int], kept: Sequence[int]
) -> Iterator[str]:
    """Which other columns hold a sum already."""
    others: dict[str, list[Decimal]] = {}
    for place, name in enumerate(table.columns):
        try:
            scores = [] if place in asked else table.numbers(place)
        except FileRefusedError:
            continue
        there = [score for score in (scores[index] for index in kept) if score is not None] if scores else []
        if there and len(there) == len(kept):
            others[name] = there
    for total, exact in added.items():
        for name, apart in same_but_for_rounding(exact, total.count("+") + 1, others):
            yield f"{total} is the column {name}" + (
                f" but for rounding, by {float(apart):g} at most." if apart else "."
            )


def _cell(figure: float | UndefinedScore, digits: int) -> str:
    return "undefined" if isinstance(figure, UndefinedScore) else rounded_number(figure, digits)


def _reasons(agreement: Mapping[str, Mapping[str, float | UndefinedScore]]) -> Iterator[str]:
    for name, row in agreement.items():
        for other, figure in row.items():
            if isinstance(figure, UndefinedScore):
                yield f"  undefined for {name} with {other}: {figure.message}"
