"""Prepare the scores of a project: models, languages and metrics in tables and plots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.http import QueryDict
from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, IntervalEstimate, NumberedDot, dot_plot, range_plot, round_end
from research.scoring.selectors.scores import (
    ScoreCell,
    ScoringRow,
    by_note,
    differences_between,
    learned_counts,
    metric_order,
    title_of,
)
from tabular.tables import TEXT, TableColumn, asked_order, column_heads, in_order

DIGITS = 1


@dataclass(frozen=True)
class ShownFigure:
    """One figure. If there is none, `text` is empty and `why` may say why."""

    text: str = ""
    is_best: bool = False
    why: str = ""


class MethodDifference(NamedTuple):
    """Two models whose figures are not made in the same way, and in what they differ."""

    one: str
    other: str
    parts: tuple[str, ...]


Key = tuple[int, str, bool]
Figures = Mapping[tuple[int, str], ScoreCell]


def scores_page(rows: Sequence[ScoringRow], cells: Iterable[ScoreCell], query: QueryDict) -> dict[str, Any]:
    """Prepare the page for a reader's choices, of which an empty one means all."""
    asked = {name: query.get(name, "") for name in ("language", "metric", "collection")}
    figures = {(cell.scoring_id, cell.metric): cell for cell in cells}
    chosen = [row for row in rows if _is_asked_for(row, asked)]
    chosen_ids = {row.scoring.pk for row in chosen}
    names = sorted({metric for scoring, metric in figures if scoring in chosen_ids}, key=metric_order)
    shown = [name for name in names if asked["metric"] in ("", name)]
    metrics = [TableColumn(name, title_of(name), partial(_value, figures, metric=name)) for name in shown]
    columns = [TableColumn("model", _("Model"), _model, kind=TEXT), *metrics]
    order = asked_order(query, columns)
    by_key: dict[Key, list[ScoringRow]] = defaultdict(list)
    for row in chosen:
        by_key[row.scoring.references_id, row.scoring.tokenizer, row.scoring.normalise].append(row)
    ordered = sorted(by_key.values(), key=lambda several: _name_of_group(several[0]))
    learned = learned_counts([row for several in ordered for row in several])
    groups = [
        _group(in_order(sorted(several, key=_model), columns, order), figures, shown, learned) for several in ordered
    ]
    is_matrix = bool(asked["metric"] and shown)
    return {
        "asked": asked,
        "heads": column_heads(columns, order, query),
        "groups": groups,
        "matrix": _matrix(asked["metric"], groups, figures) if is_matrix else None,
        "plots": _plots(groups[0], figures, shown) if len(groups) == 1 and not is_matrix else [],
        "languages": [
            (one.tag, one.name)
            for one in _unique(rows, lambda row: row.scoring.references.language, lambda one: one.english_name)
        ],
        "collections": [
            (one.slug, one.name)
            for one in _unique(rows, lambda row: row.scoring.references.collection, lambda one: one.name)
        ],
        "metrics": [(name, title_of(name)) for name in sorted({metric for _, metric in figures}, key=metric_order)],
        "is_anything_there": bool(rows),
    }


def value_text(cell_value: float | None) -> str:
    """Format a value that `cell_value` has scaled as papers print it."""
    return "" if cell_value is None else texts.plain_number(cell_value, DIGITS)


def _is_asked_for(row: ScoringRow, asked: Mapping[str, str]) -> bool:
    references = row.scoring.references
    return asked["language"] in ("", references.language_id) and asked["collection"] in ("", references.collection.slug)


def _name_of_group(row: ScoringRow) -> tuple[str, str, str, bool]:
    references = row.scoring.references
    return references.language.english_name, references.name, row.scoring.tokenizer, row.scoring.normalise


def _unique(rows: Sequence[ScoringRow], part: Callable[[ScoringRow], Any], name: Callable[[Any], str]) -> list[Any]:
    return sorted({value.pk: value for value in map(part, rows)}.values(), key=name)


def _model(row: ScoringRow) -> str:
    return row.scoring.model.name.casefold()


def _group(
    rows: Sequence[ScoringRow], figures: Figures, columns: Sequence[str], learned: Mapping[int, int]
) -> dict[str, Any]:
    """Show scorings that may be compared: with the same references and tokenisation."""
    best: dict[str, float] = {}
    unlike: dict[MethodDifference, list[str]] = defaultdict(list)
    for name in columns:
        cells = [figures[row.scoring.pk, name] for row in rows if (row.scoring.pk, name) in figures]
        difference = _difference(cells)
        values = [cell.value for cell in cells if cell.value is not None]
        if difference:
            unlike[difference].append(title_of(name))
        elif len(values) > 1:
            best[name] = max(values)
    lines = [
        {
            "row": row,
            **_counts(row, figures, columns),
            "learned": learned.get(row.scoring.pk, 0),
            "cells": [_shown(figures.get((row.scoring.pk, name)), best.get(name)) for name in columns],
        }
        for row in rows
    ]
    noted = [figures[row.scoring.pk, name] for row in rows for name in columns if (row.scoring.pk, name) in figures]
    notes = [f"{', '.join(models)}: {note}" for note, models in by_note(noted, name="model").items()]
    apart = [(_titles_of(titles, difference), difference.parts) for difference, titles in unlike.items()]
    return {"row": rows[0], "lines": lines, "unlike": apart, "notes": notes}


def _counts(row: ScoringRow, figures: Figures, columns: Sequence[str]) -> dict[str, Any]:
    """Count the images of a line: of its figures, which may be over some of the pass's images only."""
    of: Any = next((figures[row.scoring.pk, name] for name in columns if (row.scoring.pk, name) in figures), row.done)
    return {"images": of.images if of else None, "left_out": of.left_out if of else 0}


def _difference(cells: Sequence[ScoreCell]) -> MethodDifference | None:
    """Return in what the first two different signatures differ; None if all are alike."""
    signed = [cell for cell in cells if cell.signature]
    other = next((cell for cell in signed if cell.signature != signed[0].signature), None)
    if other is None:
        return None
    parts = differences_between(signed[0].signature, other.signature)
    return MethodDifference(signed[0].model, other.model, tuple(parts))


def _titles_of(titles: Sequence[str], difference: MethodDifference) -> str:
    """Name all metrics with the same difference at once."""
    text = _("%(metric)s of %(one)s and %(other)s")
    return text % {"metric": ", ".join(titles), "one": difference.one, "other": difference.other}


def _value(figures: Figures, row: ScoringRow, metric: str) -> float | None:
    cell = figures.get((row.scoring.pk, metric))
    return cell.shown if cell else None


def _shown(cell: ScoreCell | None, best: float | None) -> ShownFigure:
    if cell is None:
        return ShownFigure()
    return ShownFigure(value_text(cell.shown), cell.value is not None and cell.value == best, cell.why)


def _plots(group: Mapping[str, Any], figures: Figures, columns: Sequence[str]) -> list[DrawnPlot]:
    plots = []
    for name in columns:
        values = [(line["row"].scoring.model.name, _value(figures, line["row"], name)) for line in group["lines"]]
        highest = max((value for _, value in values if value is not None), default=None)
        if highest is None:
            continue
        estimates = [
            IntervalEstimate(model, value_text(value) or _("undefined"), value, None) for model, value in values
        ]
        lowest = min(0.0, *(value for _, value in values if value is not None), 0.0)
        ends = (-round_end(-lowest) if lowest < 0 else 0.0, round_end(highest))
        plots.append(range_plot(title_of(name), estimates, reference=0, ends=ends))
    return plots


def _matrix(metric: str, groups: Sequence[Mapping[str, Any]], figures: Figures) -> dict[str, Any]:
    """Show one metric: a line for each group, a cell for each model."""
    models = sorted({line["row"].scoring.model.name for group in groups for line in group["lines"]}, key=str.casefold)
    numbers = {name: number for number, name in enumerate(models, start=1)}
    lines, tracks, highest, lowest = [], [], 0.0, 0.0
    for group in groups:
        cells, dots = {}, []
        for line in group["lines"]:
            name, value = line["row"].scoring.model.name, _value(figures, line["row"], metric)
            cells[name] = line["cells"][0]
            if value is not None:
                dots.append(NumberedDot(numbers[name], name, value, value_text(value)))
                highest, lowest = max(highest, value), min(lowest, value)
        lines.append((group, [cells.get(name, ShownFigure()) for name in models]))
        tracks.append((group["row"].scoring.references.language.name, dots))
    ends = (-round_end(-lowest) if lowest < 0 else 0.0, round_end(highest))
    has_dots = any(dots for _, dots in tracks)
    return {
        "title": title_of(metric),
        "models": models,
        "lines": lines,
        "plot": dot_plot(title_of(metric), tracks, ends=ends) if has_dots else None,
    }
