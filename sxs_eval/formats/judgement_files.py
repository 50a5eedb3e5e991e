"""Judgements from a CSV or JSON Lines file, checked before anything is computed: docs/side-by-side-files.md.

No database is needed. All problems of a file are collected, so that it can be put right in one go; a file with problems
gives no figures at all, since nobody could tell what they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import BrokenRecord, FileRefusedError, csv_records, is_text, json_records
from sxs_eval.rules.judging import LEVELS
from sxs_eval.rules.report import Judged, Repeat
from tabular.spreadsheets import plain_cell

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")
NEEDED = ("image", "rater", "score")
OPTIONAL = ("comparison", "base_model", "test_model", "left_is", "seconds", "region", "kind", "counts")
COLUMNS = (*NEEDED, *OPTIONAL)
KINDS = ("pair", "gold", "repeat", "equal")
MOST_PROBLEMS_SHOWN = 20

_SCORES = {
    **{str(score): score for score in LEVELS},
    **{f"{score:+}": score for score in LEVELS},
    **{f"{score}.0": score for score in LEVELS},
    **{f"−{-score}": score for score in LEVELS if score < 0},
    **{name: score for score, name in LEVELS.items()},
    "-0": 0,
    "-0.0": 0,
}
_KINDS = {"": "pair", **{kind: kind for kind in KINDS}}
_SIDES = {"test": 1, "base": 0, "": -1}
_ANSWERS = {"": True, "true": True, "false": False}


class Row(NamedTuple):
    """One line that is right by itself."""

    number: int
    comparison: str
    image: str
    rater: str
    kind: str
    score: int
    score_is_named: bool
    test_is_left: int
    seconds: float | None
    region: str
    base_model: str
    test_model: str
    counts: bool


@dataclass(frozen=True)
class Problem:
    """`number` as in `crosslens_metrics.formats.records.Record`; 0 for the file as a whole."""

    number: int
    message: str


class JudgementFileError(Exception):
    """The file cannot be used; says what is wrong, where, and what to do."""

    def __init__(self, file: Path, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems
        super().__init__(self._text())

    def _text(self) -> str:
        shown = self.problems[:MOST_PROBLEMS_SHOWN]
        lines = [f"{self._place(problem)}: {problem.message}" for problem in shown]
        if len(self.problems) > len(shown):
            lines.append(_("and %(number)s more problems.") % {"number": len(self.problems) - len(shown)})
        return "\n".join(lines)

    def _place(self, problem: Problem) -> str:
        if not problem.number:
            return str(self.file)
        place = _("%(file)s, entry %(number)s") if self.file.suffix == ".json" else _("%(file)s, line %(number)s")
        return place % {"file": self.file, "number": problem.number}


@dataclass(frozen=True)
class FileComparison:
    """What a file holds of one comparison. `name` is empty where the file has no column for it."""

    name: str
    base_model: str
    test_model: str
    judged: Judged
    repeats: tuple[Repeat, ...]
    repeats_without_first: int
    region_of: Mapping[str, str] | None
    gold: int
    set_aside: int
    duplicates: int
    equal: tuple[str, ...]
    """Images whose captions are equal and count as SIMILAR without having been shown."""


@dataclass(frozen=True)
class JudgementFile:
    comparisons: tuple[FileComparison, ...]
    ignored_columns: tuple[str, ...]


def read_judgements(file: Path) -> JudgementFile:
    """All judgements of a file.

    Raises
    ------
    JudgementFileError
        Where any of it cannot be read or contradicts something else in it.
    """
    reading = _Reading(is_csv=file.suffix.lower() == ".csv")
    problems: list[Problem] = []
    gathered: dict[str, _Gathered] = {}
    try:
        for row in _rows(file, reading, problems):
            try:
                if row.comparison not in gathered:
                    gathered[row.comparison] = _Gathered(row)
                gathered[row.comparison].add(row)
            except ValueError as error:
                problems.append(Problem(row.number, str(error)))
    except FileRefusedError as error:
        raise JudgementFileError(file, [Problem(0, str(error))]) from error
    except OSError as error:
        message = _("The file cannot be read: %(error)s.") % {"error": error.strerror}
        raise JudgementFileError(file, [Problem(0, message)]) from error
    needed = NEEDED if reading.holds_judgements else ("image",)
    missing = [column for column in needed if column not in reading.columns]
    if reading.columns and missing:
        problems = [Problem(0, _missing(missing, reading.columns))]
    elif not gathered and not problems:
        problems = [Problem(0, _("The file holds no judgements."))]
    elif "" in gathered and len(gathered) > 1:
        first = gathered[""].number
        message = _("comparison is empty here and not on other lines. Name the comparison on each line, or on none.")
        problems.append(Problem(first, message))
    if problems:
        raise JudgementFileError(file, sorted(problems, key=lambda problem: problem.number))
    ignored = tuple(sorted(name for name in reading.columns if name and name not in COLUMNS))
    return JudgementFile(tuple(comparison.whole() for comparison in gathered.values()), ignored)


def _rows(file: Path, reading: _Reading, problems: list[Problem]) -> Iterator[Row]:
    if file.suffix.lower() not in SUFFIXES:
        raise FileRefusedError(
            _("The name of the file ends in none of %(suffixes)s, so its kind is unknown. Rename it.")
            % {"suffixes": ", ".join(SUFFIXES)}
        )
    with file.open("rb") as opened:
        for record in csv_records(opened, column="image") if reading.is_csv else json_records(opened):
            if isinstance(record, BrokenRecord):
                problems.append(Problem(record.number, record.reason))
                continue
            try:
                yield reading.row(record.number, record.value)
            except ValueError as error:
                problems.append(Problem(record.number, str(error)))


def _missing(missing: list[str], columns: set[str]) -> str:
    return _("The file has no column “%(missing)s”; it has: %(columns)s.") % {
        "missing": "”, “".join(missing),
        "columns": ", ".join(sorted(columns))[:200],
    }


class _Reading:
    """From the cells of one line to a row; remembers which columns there are and how scores are written.

    `holds_judgements`: some line is more than a pair of equal captions, which nobody judged.
    """

    def __init__(self, *, is_csv: bool) -> None:
        self.is_csv = is_csv
        self.columns: set[str] = set()
        self.holds_judgements = False
        self._first_score: tuple[int, bool] | None = None

    def row(self, number: int, cells: Any) -> Row:
        if not isinstance(cells, dict):
            raise ValueError(_('Not an object. Write each judgement as {"image": …, "rater": …, "score": …}.'))
        self.columns.update(cells)
        cell = {name: self._text(name, cells.get(name)) for name in COLUMNS}
        kind = _one_of("kind", cell["kind"], _KINDS)
        if kind == "equal":
            # Nobody judged it. Whatever stands there in place of a rater and a score says no more than the kind.
            cell |= {"rater": "", "left_is": "", "seconds": "", "score": "0"}
        else:
            self.holds_judgements = True
        for name in ("image",) if kind == "equal" else ("image", "rater"):
            if not cell[name]:
                raise ValueError(_("%(column)s is empty. Fill it in.") % {"column": name})
        score = _score(cell["score"])
        named = not cell["score"].lstrip("+-−")[:1].isdigit()
        if kind != "equal":
            self._check_notation(number, named)
        base_model, test_model = cell["base_model"], cell["test_model"]
        if bool(base_model) != bool(test_model) or (base_model and base_model == test_model):
            raise ValueError(_("base_model and test_model must be two models. Fill in both, or none."))
        return Row(
            number=number,
            comparison=cell["comparison"],
            image=cell["image"],
            rater=cell["rater"],
            kind=kind,
            score=score,
            score_is_named=named,
            test_is_left=_one_of("left_is", cell["left_is"], _SIDES),
            seconds=_seconds(cell["seconds"]),
            region=cell["region"],
            base_model=base_model,
            test_model=test_model,
            counts=_one_of("counts", cell["counts"], _ANSWERS),
        )

    def _text(self, name: str, value: object) -> str:
        if isinstance(value, str):
            text = (plain_cell(value) if self.is_csv else value).strip()
            if not text.isprintable() and not is_text(text):
                raise ValueError(_("%(column)s holds characters that are not valid.") % {"column": name})
            return text
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        raise ValueError(_("%(column)s is neither text nor a number.") % {"column": name})

    def _check_notation(self, number: int, named: bool) -> None:
        self._first_score = self._first_score or (number, named)
        first, first_named = self._first_score
        if named != first_named:
            raise ValueError(
                _(
                    "score is a number here and the name of a level on line %(line)s, or the other way round. Use one "
                    "of them throughout: the numbers of a 5-point scale may stand for other levels."
                )
                % {"line": first}
            )


class _Gathered:
    """The rows of one comparison so far."""

    def __init__(self, first: Row) -> None:
        self.number = first.number
        self._name = first.comparison
        self._models = (first.base_model, first.test_model)
        self._rows: dict[tuple[str, str, str], Row] = {}
        self._regions: dict[str, Row] = {}
        self._gold = self._set_aside = self._duplicates = 0

    def add(self, row: Row) -> None:
        if (row.base_model, row.test_model) != self._models:
            raise ValueError(
                _("base_model or test_model differ from line %(line)s, of the same comparison. Name comparisons apart.")
                % {"line": self.number}
            )
        if row.kind == "gold":
            self._gold += 1
            return
        if not row.counts:
            self._set_aside += 1
            return
        known = self._regions.setdefault(row.image, row)
        if known.region != row.region:
            raise ValueError(
                _("region of this image is “%(here)s” here and “%(there)s” on line %(line)s. Give it one region.")
                % {"here": row.region, "there": known.region, "line": known.number}
            )
        if (known.kind == "equal") != (row.kind == "equal"):
            raise ValueError(
                _("This image was judged and yet has kind = equal here or on line %(line)s. Remove one of the lines.")
                % {"line": known.number}
            )
        earlier = self._rows.setdefault((row.kind, row.image, row.rater), row)
        if earlier is row:
            return
        if earlier._replace(number=row.number) != row:
            raise ValueError(
                _(
                    "%(rater)s judged image %(image)s on line %(line)s too, with other values. Keep the line that "
                    "holds, or mark the other with counts = false; a pair that was shown again has kind = repeat."
                )
                % {"rater": row.rater, "image": row.image, "line": earlier.number}
            )
        self._duplicates += 1

    def whole(self) -> FileComparison:
        pairs = [row for row in self._rows.values() if row.kind == "pair"]
        repeats = [row for row in self._rows.values() if row.kind == "repeat"]
        firsts = [self._rows.get(("pair", row.image, row.rater)) for row in repeats]
        regions = {image: row.region for image, row in self._regions.items()}
        return FileComparison(
            name=self._name,
            base_model=self._models[0],
            test_model=self._models[1],
            judged=Judged(
                image=np.array([row.image for row in pairs], dtype=object),
                rater=np.array([row.rater for row in pairs], dtype=object),
                score=np.array([row.score for row in pairs], dtype=int),
                test_is_left=np.array([row.test_is_left for row in pairs], dtype=np.int8),
                seconds=np.array([math.nan if row.seconds is None else row.seconds for row in pairs], dtype=float),
            ),
            repeats=tuple(
                (first.score, row.score, row.rater)
                for first, row in zip(firsts, repeats, strict=True)
                if first is not None
            ),
            repeats_without_first=firsts.count(None),
            region_of=regions if any(regions.values()) else None,
            gold=self._gold,
            set_aside=self._set_aside,
            duplicates=self._duplicates,
            equal=tuple(row.image for row in self._rows.values() if row.kind == "equal"),
        )


def _score(text: str) -> int:
    score = _SCORES.get(text)
    if score is None:
        score = _SCORES.get(text.upper().replace("_", "-").replace(" ", "-"))
    if score is None:
        raise ValueError(
            _(
                "score is “%(cell)s”. Give a whole number from -3 to 3, test against base, or the name of a level, "
                "such as SLIGHTLY-BETTER."
            )
            % {"cell": text[:40]}
        )
    return score


def _one_of(name: str, text: str, values: Mapping[str, Any]) -> Any:
    try:
        return values[text.lower()]
    except KeyError:
        raise ValueError(
            _("%(column)s is “%(cell)s”. Give one of: %(values)s.")
            % {"column": name, "cell": text[:40], "values": ", ".join(value for value in values if value)}
        ) from None


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(
            _("seconds is “%(cell)s”. Give a number of seconds from 0 on, or leave it empty.") % {"cell": text[:40]}
        )
    return seconds
