"""What the columns of a table hold: the parts of a line for each kind of table, under the names that somebody gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import IO, Any

from crosslens_metrics.formats import caption_rows
from crosslens_metrics.formats.caption_rows import folded_column
from crosslens_metrics.formats.object_rows import Records
from crosslens_metrics.formats.problems import LayoutError, LineError
from crosslens_metrics.formats.records import LineRecord
from crosslens_metrics.messages import gettext as _


class FileKind(StrEnum):
    """What is in a file."""

    IMAGES = "images"
    CAPTIONS = "captions"
    JUDGEMENTS = "judgements"
    GAP_ITEMS = "gap items"
    VECTORS = "vectors of images"
    CANDIDATES = "candidates"
    NAMES = "names of images"
    SENTENCES = "sentences"


LEFT, RIGHT, WINNER = "left", "right", "winner"
PARTS: Mapping[str, tuple[str, ...]] = {
    FileKind.CAPTIONS: caption_rows.PARTS,
    FileKind.JUDGEMENTS: (
        *("image", "rater", "score", "base_model", "test_model", "left_is", WINNER, LEFT, RIGHT),
        *("comparison", "language", "seconds", "comment"),
    ),
    FileKind.IMAGES: (
        *("file", "key", "title", "author", "licence", "licence_url", "source", "latitude", "longitude"),
    ),
    FileKind.GAP_ITEMS: ("sentence", "word", "images", "language", "split", "sense", "key", "representative"),
}
"""By kind of table the parts whose columns may be named; each kind has some that no other has."""
ALL_PARTS = tuple(dict.fromkeys(part for parts in PARTS.values() for part in parts))
NEEDED: Mapping[str, tuple[str, ...]] = {
    FileKind.JUDGEMENTS: ("image", "rater", "score"),
    FileKind.IMAGES: ("file",),
    FileKind.GAP_ITEMS: ("sentence", "word", "images"),
}
# No numbers: 1 is the left model in some tables, and the right one in others that count from 0.
WON_BY_LEFT = frozenset({"left", "l", "a", "model_a"})
WON_BY_RIGHT = frozenset({"right", "r", "b", "model_b"})
TIES = frozenset({"tie", "both", "similar", "same", "equal", "draw", "neither"})
SCALE_OF_WINNERS, BETTER, SIMILAR, WORSE = "5", "BETTER", "SIMILAR", "WORSE"
LIST_SIGNS = "|;,"
"""What parts the names in a cell of a list: the first of these that is in it."""


def kind_of_parts(parts: set[str]) -> str:
    """The kind of a table of which these parts were named; "" if several kinds have them all."""
    having = [kind for kind, its in PARTS.items() if parts and parts <= set(its)]
    return having[0] if len(having) == 1 else ""


def missing_parts(kind: str, names: set[str]) -> list[str]:
    """The parts that a table of this kind needs and columns of these names do not hold."""
    needed = NEEDED.get(kind, ())
    if kind == FileKind.JUDGEMENTS and names & {LEFT, RIGHT, WINNER}:
        needed = ("image", "rater", LEFT, RIGHT, WINNER)
    return [name for name in needed if name not in names and not (name == "file" and "file_name" in names)]


def lacking_columns(
    missing: Sequence[str], *, columns: tuple[str, ...], first_rows: tuple[tuple[str, ...], ...]
) -> LayoutError:
    """Say which of the parts that a kind of table needs no column holds."""
    reason = _("The file has no column “%(missing)s”. It has: %(columns)s.")
    about = {"missing": "”, “".join(missing), "columns": ", ".join(columns)[:200]}
    return LayoutError(reason % about, columns=columns, first_rows=first_rows)


def said_of(names: set[str], said: Mapping[str, str] | None) -> dict[str, str]:
    """Which of the parts that were `said` a table with columns of these names has; of several files some lack them."""
    there = {folded_column(name): name for name in names}
    return {
        part: there[folded_column(column)] for part, column in (said or {}).items() if folded_column(column) in there
    }


def renamed(value: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a line, with those that were `said` under the names of their parts."""
    mine = said_of(set(value), said)
    rest = {name: of for name, of in value.items() if name not in mine and name not in mine.values()}
    return rest | {part: value[name] for part, name in mine.items()}


def converted_fields(
    read: Callable[[IO[bytes]], Records], change: Callable[[Mapping[str, Any]], dict[str, Any]], file: IO[bytes]
) -> Records:
    """The lines of a file with their fields changed; what cannot be is a problem of its line."""
    for record in read(file):
        if isinstance(record, LineRecord) and isinstance(record.value, dict):
            try:
                record = LineRecord(record.number, change(record.value))
            except LineError as error:
                record = LineError(error.reason, error.name, number=record.number)
        yield record


def lower_case(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line with their names in lower case, as a table is recognised by them."""
    return {name.strip().lower(): of for name, of in value.items()}


def judgement_fields(value: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """A judgement under our names, in lower case; one that only says who won has a score of three levels."""
    fields = renamed(lower_case(value), said)
    return _with_score(fields) if WINNER in fields and "score" not in fields else fields


def _with_score(fields: dict[str, Any]) -> dict[str, Any]:
    """The base model is the one whose name comes first, whichever side it is on.

    Raises LineError.
    """
    left, right = (str(fields.get(side) or "").strip() for side in (LEFT, RIGHT))
    if not left or not right:
        raise LineError(_("base_model and test_model must be two different models. Fill in both, or neither."))
    base, test = sorted((left, right))
    given = str(fields[WINNER] if fields[WINNER] is not None else "").strip()
    word = given.lower()
    if given == left or (word in WON_BY_LEFT and given != right):
        winner = left
    elif given == right or word in WON_BY_RIGHT:
        winner = right
    elif word in TIES or word.startswith("tie"):
        winner = ""
    else:
        text = _("%(column)s is “%(cell)s”. Give one of: %(values)s.")
        raise LineError(text % {"column": WINNER, "cell": given[:40], "values": f"left, right, tie, {left}, {right}"})
    made = {"comparison": f"{base} → {test}", "base_model": base, "test_model": test, "scale": SCALE_OF_WINNERS}
    made["left_is"] = "test" if left == test else "base"
    made["score"] = BETTER if winner == test else WORSE if winner else SIMILAR
    return {**made, **{name: of for name, of in fields.items() if name not in (LEFT, RIGHT, WINNER)}}


def item_fields(value: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """A sentence of the game from a row of a table, where a cell holds several names."""
    fields = {name: of for name, of in renamed(lower_case(value), said).items() if of not in (None, "")}
    for name in ("images", "sense"):
        if isinstance(fields.get(name), str):
            fields[name] = _listed(fields[name])
    start = fields.get("start")
    return fields | ({"start": int(start)} if isinstance(start, str) and start.isdecimal() else {})


def _listed(cell: str) -> list[Any]:
    if cell.startswith("["):
        with suppress(ValueError):
            listed = json.loads(cell)
            return listed if isinstance(listed, list) else [cell]
    sign = next((sign for sign in LIST_SIGNS if sign in cell), LIST_SIGNS[0])
    return [name.strip() for name in cell.split(sign) if name.strip()]
