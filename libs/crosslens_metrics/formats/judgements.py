"""Judgements from a CSV or JSON Lines file, checked before anything is computed: docs/side-by-side-files.md.

No database is needed. All problems of a file are collected, so that it can be put right in one go; a file with problems
gives no figures at all, since nobody could tell what they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.names import alike_names
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import LineRecord
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.reports.comparison import NO_DESIGN, CountedJudgements, Repeat
from crosslens_metrics.scales import SCALES, SEVEN_POINTS, Scale
from crosslens_metrics.signatures import ORIGINAL, MalformedSignatureError, Signature

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")
NEEDED = ("image", "rater", "score")
OPTIONAL = (
    *("comparison", "base_model", "test_model", "left_is", "seconds", "region", "kind", "counts", "scale"),
    *("instructions_version", "instructions_language", "design"),
)
COLUMNS = (*NEEDED, *OPTIONAL)
NAMES = ("comparison", "rater", "base_model", "test_model", "region")
AS_WRITTEN = (
    *("comparison", "image", "rater", "region", "base_model", "test_model"),
    *("instructions_version", "instructions_language", "design"),
)
KINDS = ("pair", "gold", "repeat", "equal")
EXAMPLE = '{"image": …, "rater": …, "score": …}'

_SCALES = {"": SEVEN_POINTS, **{str(points): scale for points, scale in SCALES.items()}}
_SCORES = {
    points: {
        **{str(score): score for score in scale.numbers},
        **{f"{score:+}": score for score in scale.numbers},
        **{f"{score}.0": score for score in scale.numbers},
        **{f"−{-score}": score for score in scale.numbers if score < 0},
        **{level.name: level.number for level in scale.levels},
        "-0": 0,
        "-0.0": 0,
    }
    for points, scale in SCALES.items()
}
_KINDS = {"": "pair", **{kind: kind for kind in KINDS}}
_SIDES = {"test": 1, "base": 0, "": -1}
_ANSWERS = {"": True, "true": True, "false": False}


class JudgementLine(NamedTuple):
    """One line that is right by itself."""

    number: int
    comparison: str
    image: str
    rater: str
    kind: str
    score: int
    test_is_left: int
    seconds: float | None
    region: str
    base_model: str
    test_model: str
    counts: bool
    scale: Scale
    instructions_version: str
    instructions_language: str
    """Empty where it is not known: the original is named."""
    design: str


@dataclass(frozen=True)
class FileComparison:
    """What a file holds of one comparison. `name` is empty where the file has no column for it."""

    name: str
    base_model: str
    test_model: str
    judged: CountedJudgements
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
    alike_images: tuple[tuple[str, str], ...] = ()
    """Names of images that count as two, and may be one image's."""


def read_judgements(file: Path) -> JudgementFile:
    """All judgements of a file.

    Raises FileProblemsError where any of it cannot be read or contradicts something else in it.
    """
    with LineReader(file, suffixes=SUFFIXES) as reader:
        gathered = GatheredJudgements(reader, is_csv=reader.is_csv)
        for record in reader.records(column="image"):
            gathered.take(record)
        gathered.close()
    columns, comparisons = gathered.columns, gathered.comparisons.values()
    ignored = tuple(sorted(name for name in columns if name and name not in COLUMNS))
    alike = tuple(alike_names(image for comparison in comparisons for image in comparison.images))
    return JudgementFile(tuple(comparison.whole() for comparison in comparisons), ignored, alike)


class GatheredJudgements:
    """The lines of a file so far, each checked against those before it; `reader` gathers what is wrong."""

    def __init__(self, reader: LineReader, *, is_csv: bool = False) -> None:
        self._reader, self._reading = reader, _RowReader(is_csv=is_csv)
        self.comparisons: dict[str, _ComparisonRows] = {}

    @property
    def columns(self) -> set[str]:
        return self._reading.columns

    def take(self, record: LineRecord) -> JudgementLine | None:
        """The judgement of a line, or None if something is wrong with it."""
        with self._reader.line(record):
            row = self._reading.row(record.number, record.value)
            if row.comparison not in self.comparisons:
                self.comparisons[row.comparison] = _ComparisonRows(row)
            self.comparisons[row.comparison].add(row)
            return row
        return None

    def close(self) -> None:
        """Check what only the whole file shows."""
        reader, reading = self._reader, self._reading
        needed = NEEDED if reading.holds_judgements else ("image",)
        missing = [column for column in needed if column not in reading.columns]
        if reading.columns and missing:
            reader.problems.clear()
            reader.refuse(_missing(missing, reading.columns))
        elif not self.comparisons and not reader.problems:
            reader.refuse(_("The file has no judgements."))
        elif "" in self.comparisons and len(self.comparisons) > 1:
            reader.refuse(
                _("comparison is empty on this line but not on others. Fill it in on every line, or on none."),
                number=self.comparisons[""].number,
            )


def _missing(missing: list[str], columns: set[str]) -> str:
    return _("The file has no column “%(missing)s”. It has: %(columns)s.") % {
        "missing": "”, “".join(missing),
        "columns": ", ".join(sorted(columns))[:200],
    }


class _RowReader:
    """From the cells of one line to a row; remembers which columns there are and how scores are written.

    `holds_judgements`: some line is more than a pair of equal captions, which nobody judged.
    """

    def __init__(self, *, is_csv: bool) -> None:
        self.is_csv = is_csv
        self.columns: set[str] = set()
        self.holds_judgements = False
        self._first_score: tuple[int, bool] | None = None

    def row(self, number: int, value: Any) -> JudgementLine:
        fields = LineFields(value, example=EXAMPLE, is_csv=self.is_csv)
        self.columns.update(fields.values)
        cell = {name: fields.text(name, numbers=True, is_name=name in NAMES) for name in COLUMNS}
        kind = _KINDS[fields.one_of("kind", _KINDS, any_case=True)]
        if kind == "equal":
            # Nobody judged it. Whatever stands there in place of a rater and a score says no more than the kind.
            cell |= {"rater": "", "score": "0"}
        else:
            self.holds_judgements = True
            fields.text("rater", needed=True, numbers=True)
        cell["image"] = fields.image()
        if cell["instructions_version"] and "instructions_language" in self.columns:
            cell["instructions_language"] = cell["instructions_language"] or ORIGINAL
        scale = _SCALES[fields.one_of("scale", _SCALES)]
        score = _score(cell["score"], scale)
        named = not cell["score"].lstrip("+-−")[:1].isdigit()
        if kind != "equal":
            self._check_notation(number, named)
        base_model, test_model = cell["base_model"], cell["test_model"]
        if bool(base_model) != bool(test_model) or (base_model and base_model == test_model):
            raise LineError(_("base_model and test_model must be two different models. Fill in both, or neither."))
        return JudgementLine(
            number=number,
            kind=kind,
            score=score,
            test_is_left=-1 if kind == "equal" else _SIDES[fields.one_of("left_is", _SIDES, any_case=True)],
            seconds=None if kind == "equal" else _seconds(cell["seconds"]),
            counts=_ANSWERS[fields.one_of("counts", _ANSWERS, any_case=True)],
            scale=scale,
            **{name: cell[name] for name in AS_WRITTEN},
        )

    def _check_notation(self, number: int, named: bool) -> None:
        self._first_score = self._first_score or (number, named)
        first, first_named = self._first_score
        if named != first_named:
            raise LineError(
                _(
                    "This line and line %(line)s differ in whether score is a number or the name of a level. "
                    "Use the same on all lines: the numbers of a 5-point scale may mean other levels."
                )
                % {"line": first}
            )


class _ComparisonRows:
    """The rows of one comparison so far."""

    def __init__(self, first: JudgementLine) -> None:
        self.number = first.number
        self._name = first.comparison
        self._models = (first.base_model, first.test_model)
        self._scale = first.scale
        self._same = (*self._models, self._scale, first.design)
        self._design = _design(first.design)
        self._rows: dict[tuple[str, str, str], JudgementLine] = {}
        self._regions: dict[str, JudgementLine] = {}
        self._gold = self._set_aside = self._duplicates = 0

    def add(self, row: JudgementLine) -> None:
        if (row.base_model, row.test_model, row.scale, row.design) != self._same:
            raise LineError(
                _(
                    "base_model, test_model, scale or design differs from line %(line)s, which has the same "
                    "comparison. Give the comparisons different names."
                )
                % {"line": self.number}
            )
        if row.kind == "gold":
            self._gold += 1
            return
        if not row.counts:
            # An equal pair of an image that is left out: nobody judged it.
            self._set_aside += row.kind != "equal"
            return
        known = self._regions.setdefault(row.image, row)
        if known.region != row.region:
            raise LineError(
                _(
                    "The region of this image is “%(here)s” on this line and “%(there)s” on line %(line)s. "
                    "Give it one region."
                )
                % {"here": row.region, "there": known.region, "line": known.number}
            )
        if (known.kind == "equal") != (row.kind == "equal"):
            raise LineError(
                _(
                    "This image was judged, but has kind = equal on this line or on line %(line)s. Remove one "
                    "of the two lines."
                )
                % {"line": known.number}
            )
        earlier = self._rows.setdefault((row.kind, row.image, row.rater), row)
        if earlier is row:
            return
        if earlier._replace(number=row.number) != row:
            raise LineError(
                _(
                    "%(rater)s also judged image %(image)s on line %(line)s, with other values. Remove the "
                    "wrong line, or mark it with counts = false. A pair that was shown again has kind = repeat."
                )
                % {"rater": row.rater, "image": row.image, "line": earlier.number}
            )
        self._duplicates += 1

    @property
    def images(self) -> Iterable[str]:
        return self._regions

    def whole(self) -> FileComparison:
        pairs = [row for row in self._rows.values() if row.kind == "pair"]
        repeats = [row for row in self._rows.values() if row.kind == "repeat"]
        firsts = [self._rows.get(("pair", row.image, row.rater)) for row in repeats]
        regions = {image: row.region for image, row in self._regions.items()}
        return FileComparison(
            name=self._name,
            base_model=self._models[0],
            test_model=self._models[1],
            judged=CountedJudgements(
                image=np.array([row.image for row in pairs], dtype=object),
                rater=np.array([row.rater for row in pairs], dtype=object),
                score=np.array([row.score for row in pairs], dtype=int),
                test_is_left=np.array([row.test_is_left for row in pairs], dtype=np.int8),
                seconds=np.array([math.nan if row.seconds is None else row.seconds for row in pairs], dtype=float),
                scale=self._scale,
                design=self._design.with_values(
                    "instructions", (row.instructions_version for row in pairs)
                ).with_values("instructions-in", (row.instructions_language for row in pairs)),
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


def _design(text: str) -> Signature:
    if not text:
        return NO_DESIGN
    try:
        return Signature.parse(text)
    except MalformedSignatureError as error:
        message = _("design is “%(cell)s”. Leave it as it was exported, or empty.")
        raise LineError(message % {"cell": text[:40]}) from error


def _score(text: str, scale: Scale) -> int:
    scores = _SCORES[scale.points]
    score = scores.get(text)
    if score is None:
        score = scores.get(text.upper().replace("_", "-").replace(" ", "-"))
    if score is None:
        raise LineError(
            _(
                "score is “%(cell)s”. Give one of %(scores)s, test against base, or the name of a level, "
                "such as %(level)s."
            )
            % {
                "cell": text[:40],
                "scores": ", ".join(map(str, scale.numbers)),
                "level": scale.levels[1].name,
            }
        )
    return score


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds) or seconds < 0:
        raise LineError(_("seconds is “%(cell)s”. Enter a number from 0, or leave it empty.") % {"cell": text[:40]})
    return seconds
