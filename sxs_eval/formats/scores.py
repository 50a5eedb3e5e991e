"""Automatic scores from a CSV or JSON Lines file, checked before anything is planned: docs/planning.md.

No database is needed. All problems of a file are collected, so that it can be put right in one go.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crosslens_metrics.formats.records import BrokenRecord, FileRefusedError, Record, csv_records, is_text, json_records
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from sxs_eval.rules.planning import Score
from tabular.spreadsheets import plain_cell

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")
NEEDED = ("language", "model")
SETS = 2
LONGEST_MODEL_NAME = 120
MOST_BYTES = 300_000
"""Scores of 40 models in 36 languages take a third of it."""
MOST_PROBLEMS_SHOWN = 20

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Problem:
    """`number` is the line, from 1 (the entry of a JSON list); 0 for the file as a whole."""

    number: int
    message: str

    def __str__(self) -> str:
        if not self.number:
            return self.message
        return _("Line %(number)s: %(message)s") % {"number": self.number, "message": self.message}


class ScoreFileError(Exception):
    """The scores cannot be used; says what is wrong, where, and what to do."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        shown = [str(problem) for problem in self.problems[:MOST_PROBLEMS_SHOWN]]
        more = len(self.problems) - len(shown)
        if more:
            shown.append(
                ngettext("and %(number)d more problem.", "and %(number)d more problems.", more) % {"number": more}
            )
        return shown


@dataclass(frozen=True)
class ScoreFile:
    """`sets` are the names of the two reference sets, as the columns have them."""

    scores: tuple[Score, ...]
    sets: tuple[str, str]
    ignored_columns: tuple[str, ...]


def read_scores(file: Path, *, sets: Sequence[str] = ()) -> ScoreFile:
    """All scores of a file; `sets` names the two columns to use where there are more.

    Raises
    ------
    ScoreFileError
        Where any of it cannot be read or contradicts something else in it.
    """
    if file.suffix.lower() not in SUFFIXES:
        message = _("The name of the file ends in none of %(suffixes)s, so its kind is unknown. Rename it.")
        raise ScoreFileError([Problem(0, message % {"suffixes": ", ".join(SUFFIXES)})])
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        message = _("The file cannot be read: %(error)s.") % {"error": error.strerror}
        raise ScoreFileError([Problem(0, message)]) from error
    return parse_scores(content, is_csv=file.suffix.lower() == ".csv", sets=sets)


def parse_scores(content: bytes, *, is_csv: bool | None = None, sets: Sequence[str] = ()) -> ScoreFile:
    """The same from what such a file holds; whether that is CSV is seen where `is_csv` does not say it.

    Raises
    ------
    ScoreFileError
        As `read_scores`.
    """
    if len(content) > MOST_BYTES:
        message = _("That is more than %(limit)s kB. Leave out what is no score.") % {"limit": MOST_BYTES // 1000}
        raise ScoreFileError([Problem(0, message)])
    if is_csv is None:
        is_csv = not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))
    problems: list[Problem] = []
    records: list[Record] = []
    try:
        records = list(_records(content, is_csv, problems))
        columns = _columns(records)
        chosen = _chosen_sets(columns, [name.strip() for name in sets])
    except FileRefusedError as refused:
        if records or not problems:
            problems.append(Problem(0, str(refused)))
        raise ScoreFileError(sorted(problems, key=lambda problem: problem.number)) from refused
    scores: dict[tuple[str, str], tuple[Score, int]] = {}
    for record in records:
        try:
            score = _score(record.value, chosen, is_csv=is_csv)
            earlier = scores.setdefault((score.language, score.model), (score, record.number))
            if earlier[0] is not score:
                raise ValueError(
                    _("%(model)s has scores in %(language)s on line %(line)s already. Keep one of the two lines.")
                    % {"model": score.model, "language": score.language, "line": earlier[1]}
                )
        except ValueError as error:
            problems.append(Problem(record.number, str(error)))
    if not problems and len({score.model for score, number in scores.values()}) < 2:
        problems = [Problem(0, _("There are scores of one model only. Two or more make a comparison."))]
    if problems:
        raise ScoreFileError(sorted(problems, key=lambda problem: problem.number))
    ignored = tuple(name for name in columns if name and name not in (*NEEDED, *chosen))
    return ScoreFile(tuple(score for score, number in scores.values()), chosen, ignored)


def _records(content: bytes, is_csv: bool, problems: list[Problem]) -> Iterator[Record]:
    found = csv_records(BytesIO(content), column="language") if is_csv else json_records(BytesIO(content))
    for record in found:
        if isinstance(record, BrokenRecord):
            problems.append(Problem(record.number, record.reason))
        elif isinstance(record.value, dict):
            yield record
        else:
            example = '{"language": …, "model": …, "…": 1.5, "…": 2.5}'
            message = _("Not an object. Write each line as %(example)s.") % {"example": example}
            problems.append(Problem(record.number, message))


def _columns(records: Sequence[Record]) -> list[str]:
    if not records:
        raise FileRefusedError(_("There are no scores. Write one line for each language and model."))
    columns = list(dict.fromkeys(name for record in records for name in record.value))
    for name in NEEDED:
        if name not in columns:
            raise FileRefusedError(
                _("There is no column “%(column)s”; there are: %(columns)s. The first line names the columns.")
                % {"column": name, "columns": ", ".join(columns)[:200]}
            )
    return columns


def _chosen_sets(columns: Sequence[str], sets: Sequence[str]) -> tuple[str, str]:
    able = [name for name in columns if name and name not in NEEDED]
    listed = ", ".join(able)[:200] or "–"
    if not sets and len(able) == SETS:
        return able[0], able[1]
    if not sets:
        raise FileRefusedError(
            ngettext(
                "Besides language and model there is %(number)d column: %(columns)s. Two are needed, one for each "
                "set of references.",
                "Besides language and model there are %(number)d columns: %(columns)s. Two are needed, one for each "
                "set of references: say which two hold the scores.",
                len(able),
            )
            % {"number": len(able), "columns": listed}
        )
    unknown = [name for name in sets if name not in able]
    if unknown:
        raise FileRefusedError(
            _("There is no column “%(column)s” with scores; there are: %(columns)s.")
            % {"column": unknown[0], "columns": listed}
        )
    if len(sets) != SETS or sets[0] == sets[1]:
        raise FileRefusedError(_("Name two different columns with scores, one for each set of references."))
    return sets[0], sets[1]


def _score(cells: dict[str, Any], sets: tuple[str, str], *, is_csv: bool) -> Score:
    cell = {name: _text(name, cells.get(name), is_csv=is_csv) for name in (*NEEDED, *sets)}
    try:
        language = canonical_tag(cell["language"])
    except MalformedTagError as error:
        raise ValueError(str(error)) from error
    # Characters that look alike are one name: it is looked up among the models here.
    model = unicodedata.normalize("NFC", cell["model"])
    if not model:
        raise ValueError(_("model is empty. Fill it in."))
    if len(model) > LONGEST_MODEL_NAME:
        raise ValueError(
            _("The name of the model is longer than %(limit)s characters.") % {"limit": LONGEST_MODEL_NAME}
        )
    return Score(language, model, (_number(sets[0], cell[sets[0]]), _number(sets[1], cell[sets[1]])))


def _text(name: str, value: object, *, is_csv: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = (plain_cell(value) if is_csv else value).strip()
        if not is_text(text) or any(unicodedata.category(character) == "Cc" for character in text):
            raise ValueError(_("%(column)s holds characters that are not valid. Take them out.") % {"column": name})
        return text
    if isinstance(value, int | float) and not isinstance(value, bool) and name not in NEEDED:
        return repr(value)
    raise ValueError(_("%(column)s is of the wrong kind: scores are numbers, all else is text.") % {"column": name})


def _number(name: str, text: str) -> Fraction | None:
    """As it is written, without rounding, so that a difference of 0.1 is not a little less than that."""
    if not text:
        return None
    plain = text.replace("\u2212", "-")
    if _NUMBER.fullmatch(plain):
        return Fraction(Decimal(plain))
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", plain):
        raise ValueError(
            _("%(column)s is “%(cell)s”. Write numbers with a point, as in %(example)s.")
            % {"column": name, "cell": text[:40], "example": plain.replace(",", ".")[:40]}
        )
    raise ValueError(
        _("%(column)s is “%(cell)s”. Give a number, or leave it empty where there is no score.")
        % {"column": name, "cell": text[:40]}
    )
