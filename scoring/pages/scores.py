"""Prepare the scores of a project: models, languages and metrics in tables and plots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import Dot, DotPlot, Estimate, RangePlot, dot_plot, range_plot, round_end
from scoring.selectors.learned import learned_counts
from scoring.selectors.scores import (
    ScoreCell,
    ScoringRow,
    by_note,
    differences_between,
    metric_order,
    title_of,
)

DIGITS = 1
BY_MODEL = "model"


@dataclass(frozen=True)
class ScoresQuery:
    """A reader's choices; an empty one means all. `sort` is a figure or “model”, with - in front if ascending."""

    language: str = ""
    metric: str = ""
    collection: str = ""
    sort: str = ""


@dataclass(frozen=True)
class ShownFigure:
    """One figure. If there is none, `text` is empty and `why` may say why."""

    text: str = ""
    is_best: bool = False
    why: str = ""


@dataclass(frozen=True)
class Line:
    row: ScoringRow
    images: int | None
    left_out: int
    learned: int
    """Images that the model was trained on."""
    cells: Sequence[ShownFigure]


@dataclass(frozen=True)
class Group:
    """Scorings that may be compared: with the same references and tokenisation."""

    row: ScoringRow
    lines: Sequence[Line]
    warnings: Sequence[str]


@dataclass(frozen=True)
class Column:
    name: str
    title: str
    sort: str
    """What to sort by when its head is followed."""
    state: str
    """For aria-sort; empty where the table is not sorted by it."""


@dataclass(frozen=True)
class Matrix:
    """A table of one metric: a line for each group, a cell for each model."""

    title: str
    models: Sequence[str]
    lines: Sequence[tuple[Group, Sequence[ShownFigure]]]
    plot: DotPlot | None


@dataclass(frozen=True)
class ScoresPage:
    asked: ScoresQuery
    columns: Sequence[Column]
    model_column: Column
    groups: Sequence[Group]
    matrix: Matrix | None
    plots: Sequence[RangePlot]
    languages: Sequence[tuple[str, str]]
    collections: Sequence[tuple[str, str]]
    metrics: Sequence[tuple[str, str]]
    is_anything_there: bool


class Difference(NamedTuple):
    """Two models whose figures are not made in the same way, and in what they differ."""

    one: str
    other: str
    parts: str


Key = tuple[int, str, bool]
Figures = Mapping[tuple[int, str], ScoreCell]


def scores_page(rows: Sequence[ScoringRow], cells: Iterable[ScoreCell], asked: ScoresQuery) -> ScoresPage:
    figures = {(cell.scoring_id, cell.metric): cell for cell in cells}
    chosen = [row for row in rows if _is_asked_for(row, asked)]
    chosen_ids = {row.scoring.pk for row in chosen}
    names = sorted({metric for scoring, metric in figures if scoring in chosen_ids}, key=metric_order)
    columns = [name for name in names if asked.metric in ("", name)]
    by_key: dict[Key, list[ScoringRow]] = defaultdict(list)
    for row in chosen:
        by_key[row.scoring.references_id, row.scoring.tokenizer, row.scoring.normalise].append(row)
    ordered = sorted(by_key.values(), key=lambda several: _name_of_group(several[0]))
    learned = learned_counts([row for several in ordered for row in several])
    groups = [_group(several, figures, columns, asked.sort, learned) for several in ordered]
    is_matrix = bool(asked.metric and columns)
    return ScoresPage(
        asked=asked,
        columns=[_column(name, title_of(name), asked.sort) for name in columns],
        model_column=_column(BY_MODEL, _("Model"), asked.sort),
        groups=groups,
        matrix=_matrix(asked.metric, groups, figures) if is_matrix else None,
        plots=_plots(groups[0], figures, columns) if len(groups) == 1 and not is_matrix else [],
        languages=[
            (one.tag, one.name)
            for one in _unique(rows, lambda row: row.scoring.references.language, lambda one: one.english_name)
        ],
        collections=[
            (one.slug, one.name)
            for one in _unique(rows, lambda row: row.scoring.references.collection, lambda one: one.name)
        ],
        metrics=[(name, title_of(name)) for name in sorted({metric for _, metric in figures}, key=metric_order)],
        is_anything_there=bool(rows),
    )


def value_text(cell_value: float | None) -> str:
    """Format a value that `cell_value` has scaled as papers print it."""
    return "" if cell_value is None else texts.plain(cell_value, DIGITS)


def _is_asked_for(row: ScoringRow, asked: ScoresQuery) -> bool:
    references = row.scoring.references
    return asked.language in ("", references.language_id) and asked.collection in ("", references.collection.slug)


def _name_of_group(row: ScoringRow) -> tuple[str, str, str, bool]:
    references = row.scoring.references
    return references.language.english_name, references.name, row.scoring.tokenizer, row.scoring.normalise


def _unique(rows: Sequence[ScoringRow], part: Callable[[ScoringRow], Any], name: Callable[[Any], str]) -> list[Any]:
    return sorted({value.pk: value for value in map(part, rows)}.values(), key=name)


def _column(name: str, title: str, sort: str) -> Column:
    # Figures begin with the highest, names with the first letter.
    up = {name: "ascending", f"-{name}": "descending"} if name == BY_MODEL else {}
    states = up or {name: "descending", f"-{name}": "ascending"}
    return Column(name, title, f"-{name}" if sort == name else name, states.get(sort, ""))


def _group(
    rows: Sequence[ScoringRow], figures: Figures, columns: Sequence[str], sort: str, learned: Mapping[int, int]
) -> Group:
    best: dict[str, float] = {}
    unlike: dict[Difference, list[str]] = defaultdict(list)
    for name in columns:
        cells = [figures[row.scoring.pk, name] for row in rows if (row.scoring.pk, name) in figures]
        difference = _difference(cells)
        values = [cell.value for cell in cells if cell.value is not None]
        if difference:
            unlike[difference].append(title_of(name))
        elif len(values) > 1:
            best[name] = max(values)
    lines = [
        Line(
            row=row,
            **_counts(row, figures, columns),
            learned=learned.get(row.scoring.pk, 0),
            cells=[_shown(figures.get((row.scoring.pk, name)), best.get(name)) for name in columns],
        )
        for row in _sorted(rows, figures, sort)
    ]
    noted = [figures[row.scoring.pk, name] for row in rows for name in columns if (row.scoring.pk, name) in figures]
    notes = [f"{', '.join(models)}: {note}" for note, models in by_note(noted, name="model").items()]
    return Group(rows[0], lines, [*(_warning(titles, difference) for difference, titles in unlike.items()), *notes])


def _counts(row: ScoringRow, figures: Figures, columns: Sequence[str]) -> dict[str, Any]:
    """Count the images of a line: of its figures, which may be over some of the pass's images only."""
    of: Any = next((figures[row.scoring.pk, name] for name in columns if (row.scoring.pk, name) in figures), row.done)
    return {"images": of.images if of else None, "left_out": of.left_out if of else 0}


def _difference(cells: Sequence[ScoreCell]) -> Difference | None:
    """Return in what the first two different signatures differ; None if all are alike."""
    signed = [cell for cell in cells if cell.signature]
    other = next((cell for cell in signed if cell.signature != signed[0].signature), None)
    if other is None:
        return None
    parts = differences_between(signed[0].signature, other.signature)
    return Difference(signed[0].model, other.model, "; ".join(parts))


def _warning(titles: Sequence[str], difference: Difference) -> str:
    """Say it once for all metrics with the same difference."""
    text = _("%(metric)s of %(one)s and %(other)s cannot be compared, because they differ in %(parts)s.")
    return text % {"metric": ", ".join(titles), **difference._asdict()}


def _sorted(rows: Sequence[ScoringRow], figures: Figures, sort: str) -> list[ScoringRow]:
    name = sort.removeprefix("-")
    by_name = sorted(rows, key=lambda row: row.scoring.model.name.casefold(), reverse=sort == f"-{BY_MODEL}")
    if name in ("", BY_MODEL):
        return by_name
    values = {row.scoring.pk: _value(figures, row, name) for row in rows}
    with_value = [row for row in by_name if values[row.scoring.pk] is not None]
    with_value.sort(key=lambda row: values[row.scoring.pk] or 0.0, reverse=not sort.startswith("-"))
    return with_value + [row for row in by_name if values[row.scoring.pk] is None]


def _value(figures: Figures, row: ScoringRow, metric: str) -> float | None:
    cell = figures.get((row.scoring.pk, metric))
    return cell.shown if cell else None


def _shown(cell: ScoreCell | None, best: float | None) -> ShownFigure:
    if cell is None:
        return ShownFigure()
    return ShownFigure(value_text(cell.shown), cell.value is not None and cell.value == best, cell.why)


def _plots(group: Group, figures: Figures, columns: Sequence[str]) -> list[RangePlot]:
    plots = []
    for name in columns:
        values = [(line.row.scoring.model.name, _value(figures, line.row, name)) for line in group.lines]
        highest = max((value for _, value in values if value is not None), default=None)
        if highest is None:
            continue
        estimates = [Estimate(model, value_text(value) or _("undefined"), value, None) for model, value in values]
        lowest = min(0.0, *(value for _, value in values if value is not None), 0.0)
        ends = (-round_end(-lowest) if lowest < 0 else 0.0, round_end(highest))
        plots.append(range_plot(title_of(name), estimates, reference=0, ends=ends))
    return plots


def _matrix(metric: str, groups: Sequence[Group], figures: Figures) -> Matrix:
    models = sorted({line.row.scoring.model.name for group in groups for line in group.lines}, key=str.casefold)
    numbers = {name: number for number, name in enumerate(models, start=1)}
    lines, tracks, highest, lowest = [], [], 0.0, 0.0
    for group in groups:
        cells, dots = {}, []
        for line in group.lines:
            name, value = line.row.scoring.model.name, _value(figures, line.row, metric)
            cells[name] = line.cells[0]
            if value is not None:
                dots.append(Dot(numbers[name], name, value, value_text(value)))
                highest, lowest = max(highest, value), min(lowest, value)
        lines.append((group, [cells.get(name, ShownFigure()) for name in models]))
        tracks.append((group.row.scoring.references.language.name, dots))
    ends = (-round_end(-lowest) if lowest < 0 else 0.0, round_end(highest))
    has_dots = any(dots for _, dots in tracks)
    return Matrix(
        title=title_of(metric),
        models=models,
        lines=lines,
        plot=dot_plot(title_of(metric), tracks, ends=ends) if has_dots else None,
    )
