"""Which evaluations of a table are points of a correlation, of which models, and what its columns say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.correlation_intervals import ComparedModels
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.tables import TextTable, folded_name
from crosslens_metrics.language_tags import comparable
from crosslens_metrics.signatures import OF_LANGUAGE, OF_SAMPLE, MalformedSignatureError, Signature, differences

MIN_IMAGES = 30
"""(ours) Complete images from which an evaluation is a point."""
ANY_METRIC = "*"
"""In the column `chosen_by`: a metric that nobody named, or several."""

COMPARISON_COLUMN = "comparison"
"""Names evaluations apart that are of the same models in the same language."""
SIGNATURE_COLUMN, SIGNATURE_SUFFIX = "signature", "_signature"
"""Of people's gains, and after the name of a metric those of its differences."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PointRules:
    """What makes a point. `is_published`: as in the papers' tables, with intervals over evaluations alone."""

    flip: bool = True
    min_images: int = MIN_IMAGES
    is_weighted: bool = False
    with_chosen: bool = False
    is_published: bool = False

    @classmethod
    def as_published(cls, *, flip: bool) -> PointRules:
        return cls(flip=flip, min_images=0, with_chosen=True, is_published=True)


@dataclass(frozen=True)
class EvaluationColumns:
    """Names of columns; those that are None are looked for under their usual names, and may be missing."""

    base_model: str | None = None
    test_model: str | None = None
    language: str | None = None
    images: str | None = None
    chosen_by: str | None = None

    def place(self, table: TextTable, usual: str) -> int | None:
        """Where the column with a usual name is; None where it is missing and was not asked for.

        Raises FileRefusedError where the column that was asked for is missing.
        """
        asked: str | None = getattr(self, usual)
        if asked is not None:
            return table.place(asked)
        return table.place(usual) if folded_name(usual) in map(folded_name, table.columns) else None


USUAL_COLUMNS = EvaluationColumns()


@dataclass(frozen=True)
class EvaluationFacts:
    """What is known of each evaluation beside its figures; `compared` and `images` are None without their columns."""

    compared: ComparedModels | None
    images: NDArray[np.float64] | None
    chosen_by: tuple[frozenset[str], ...]
    notes: tuple[str, ...]

    def is_large(self, rules: PointRules) -> Mask:
        if self.images is None:
            return np.ones(len(self.chosen_by), dtype=bool)
        return self.images >= rules.min_images

    def is_independent_of(self, metric: str, rules: PointRules) -> Mask:
        """Whether an evaluation was not chosen by the metric, or by one that nobody named; or that is no matter."""
        own = {folded_name(metric), ANY_METRIC}
        return np.array([rules.with_chosen or not own & names for names in self.chosen_by], dtype=bool)


def unlike_points(table: TextTable, columns: EvaluationColumns, metric: str, used: Mask) -> list[str]:
    """In what the evaluations differ that are points of a metric, as far as their signatures are in the table.

    A point is a gain and a difference of its own images, so that others may have other images. References and what
    else belongs to a language are compared within each language.
    """
    gains = [one.without(*OF_SAMPLE) for one in _signatures(table, SIGNATURE_COLUMN, used).values()]
    scores = _signatures(table, metric + SIGNATURE_SUFFIX, used)
    language_at = columns.place(table, "language")
    languages = [""] * len(table.rows) if language_at is None else list(map(comparable, table.texts(language_at)))
    groups: dict[str, list[Signature]] = {}
    for place, score in scores.items():
        groups.setdefault(languages[place], []).append(score)
    parts = [*differences(*gains), *differences(*(one.without(*OF_LANGUAGE) for one in scores.values()))]
    return list(dict.fromkeys(parts + [part for group in groups.values() for part in differences(*group)]))


def _signatures(table: TextTable, column: str, used: Mask) -> dict[int, Signature]:
    """By place in the table; none where there is no such column. A cell that is no signature is refused."""
    if folded_name(column) not in map(folded_name, table.columns):
        return {}
    found: dict[int, Signature] = {}
    problems = []
    for place, text in enumerate(table.texts(table.place(column))):
        try:
            if used[place] and text.strip():
                found[place] = Signature.parse(text)
        except MalformedSignatureError as error:
            problems.append(LineError(str(error), number=table.rows[place].line))
    if problems:
        raise FileProblemsError(problems)
    return found


def repeats_of(
    table: TextTable, compared: ComparedModels | None, figures: Mapping[int, Sequence[Decimal | None]]
) -> dict[int, int]:
    """The place of each evaluation that an earlier one holds already, and of that one; none where models are not known.

    They are of the same two models, either way round, in the same language, and of the same name where there is a
    column `comparison`. `figures` are those of each evaluation, by column.

    Raises FileProblemsError where the figures of the two disagree, unless they may be in different languages.
    """
    if compared is None:
        return {}
    is_named = folded_name(COMPARISON_COLUMN) in map(folded_name, table.columns)
    names = table.texts(table.place(COMPARISON_COLUMN)) if is_named else [""] * len(table.rows)
    firsts: dict[tuple[str, str, frozenset[str]], int] = {}
    repeats: dict[int, int] = {}
    problems = []
    for place, about in enumerate(zip(names, compared.language, compared.base, compared.test, strict=True)):
        name, language, base, test = about
        first = firsts.setdefault((name.strip(), language, frozenset((base, test))), place)
        if first == place:
            continue
        sign = 1 if compared.base[first] == base else -1
        others = [
            table.columns[column]
            for column, numbers in figures.items()
            if numbers[first] != (again if (again := numbers[place]) is None else sign * again)
        ]
        if not others:
            repeats[place] = first
        elif language:
            reason = (
                f"{test} against {base} is on line {table.rows[first].line} already, with another {others[0]}. Correct "
                f"one, or name the two apart in a column “{COMPARISON_COLUMN}”."
            )
            problems.append(LineError(reason, number=table.rows[place].line))
    if problems:
        raise FileProblemsError(problems)
    return repeats


def facts_of(table: TextTable, columns: EvaluationColumns, rules: PointRules) -> EvaluationFacts:
    """What the columns of a table say of its evaluations, and in notes which are missing.

    Raises FileRefusedError where a column that was asked for is missing, or a cell cannot be used.
    """
    places = {usual: columns.place(table, usual) for usual in EvaluationColumns.__dataclass_fields__}
    notes = [] if rules.is_published else list(_missing(places, rules))
    images_at, chosen_at = places["images"], places["chosen_by"]
    if rules.is_weighted and images_at is None:
        raise FileRefusedError("Points are weighted by their images, but there is no column “images”. Give --images.")
    images = None
    if images_at is not None and not rules.is_published:
        images = np.array([float(number or 0) for number in table.numbers(images_at)])
    cells = [""] * len(table.rows) if chosen_at is None else table.texts(chosen_at)
    chosen = tuple(frozenset(folded_name(name) for name in cell.split(",") if name.strip()) for cell in cells)
    return EvaluationFacts(None if rules.is_published else _compared(table, places), images, chosen, tuple(notes))


def _missing(places: dict[str, int | None], rules: PointRules) -> Sequence[str]:
    notes = []
    if places["base_model"] is None or places["test_model"] is None:
        notes.append(
            "There are no columns base_model and test_model, so intervals are over evaluations: they are too narrow if "
            "two evaluations share a model or a language."
        )
    elif places["language"] is None:
        notes.append("There is no column language: all evaluations are taken to be in one language.")
    if places["images"] is None and rules.min_images:
        notes.append("There is no column images, so no evaluation is left out for having too few.")
    return notes


def _compared(table: TextTable, places: dict[str, int | None]) -> ComparedModels | None:
    base_at, test_at, language_at = places["base_model"], places["test_model"], places["language"]
    if base_at is None or test_at is None:
        return None
    bases, tests = ([cell.strip() for cell in table.texts(place)] for place in (base_at, test_at))
    problems = []
    for row, base, test in zip(table.rows, bases, tests, strict=True):
        if not base or not test:
            problems.append(LineError("Name both models.", number=row.line))
        elif base == test:
            problems.append(LineError(f"{base} is compared with itself.", number=row.line))
    if problems:
        raise FileProblemsError(problems)
    tags = [""] * len(table.rows) if language_at is None else [comparable(cell) for cell in table.texts(language_at)]
    return ComparedModels(bases, tests, tags)
