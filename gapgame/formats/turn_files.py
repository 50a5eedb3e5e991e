"""Turns of a game as JSON Lines, and counts of their outcomes as CSV: docs/game-files.md.

No database is needed. All problems of a file are collected, so that it can be put right in one go; a file with problems
gives no figures at all, since nobody could tell what they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import BrokenRecord, FileRefusedError, csv_records, is_text, json_records
from gapgame.formats.problems import GapFileError, Problem
from gapgame.rules.play import ATTEMPTS, is_exact
from gapgame.rules.turns import ALL_OUTCOMES, FAILED, OUTCOMES, SOLVED, SPLITS, Turn, turns_of_counts
from tabular.spreadsheets import plain_cell

SUFFIXES = (".jsonl", ".ndjson", ".csv")
TEXTS = ("item", "word", "player", "image", "language")
ALL = "all"


@dataclass(frozen=True)
class TurnFile:
    turns: tuple[Turn, ...]
    repeated_lines: int
    """Lines that say the same as an earlier one of the same turn, which counts once."""


def read_turns(file: Path) -> TurnFile:
    """All turns of a file, or as many without any more as its counts say.

    Raises
    ------
    GapFileError
        Where any of it cannot be read or contradicts something else in it.
    """
    suffix = file.suffix.lower()
    try:
        if suffix not in SUFFIXES:
            raise FileRefusedError(
                _("The name of the file ends in none of %(suffixes)s, so its kind is unknown. Rename it.")
                % {"suffixes": ", ".join(SUFFIXES)}
            )
        return _counts_of(file) if suffix == ".csv" else _turns_of(file)
    except FileRefusedError as error:
        raise GapFileError(file, [Problem(0, str(error))]) from error
    except OSError as error:
        message = _("The file cannot be read: %(error)s.") % {"error": error.strerror}
        raise GapFileError(file, [Problem(0, message)]) from error


def _turns_of(file: Path) -> TurnFile:
    problems: list[Problem] = []
    turns: list[Turn] = []
    first: dict[str, tuple[int, Any]] = {}
    repeated = 0
    with file.open("rb") as opened:
        for record in json_records(opened):
            if isinstance(record, BrokenRecord):
                problems.append(Problem(record.number, record.reason))
                continue
            try:
                turn = turn_of(record.value)
                name = _text(record.value, "turn")
                earlier, said = first.setdefault(name, (record.number, hash(turn))) if name else (record.number, 0)
                if earlier == record.number:
                    turns.append(turn)
                elif said == hash(turn):
                    repeated += 1
                else:
                    raise ValueError(
                        _("The turn %(turn)s is on line %(line)s too, with other values. Keep the line that holds.")
                        % {"turn": name, "line": earlier}
                    )
            except ValueError as error:
                problems.append(Problem(record.number, str(error)))
    if not turns and not problems:
        problems.append(Problem(0, _("The file holds no turns.")))
    if problems:
        raise GapFileError(file, problems)
    return TurnFile(tuple(turns), repeated)


def turn_of(value: Any) -> Turn:
    """One turn from a JSON object.

    Raises
    ------
    ValueError
        Where it is not as docs/game-files.md says, with what is wrong and what to write.
    """
    if not isinstance(value, dict):
        raise ValueError(_('Not an object. Write each turn as {"item": …, "split": …, "attempts": […]}.'))
    texts = {name: _text(value, name) for name in TEXTS}
    if not texts["item"] and not texts["word"]:
        raise ValueError(_("Neither “item” nor “word” says what was guessed. Give one of them."))
    split = _text(value, "split")
    if split not in SPLITS:
        raise ValueError(_("split is “%(cell)s”. Give one of: %(values)s.") % _choice(split, SPLITS))
    guesses, similarities, exact = _attempts(value.get("attempts"), texts["word"])
    return Turn(
        outcome=_outcome(value, similarities, exact),
        split=split,
        similarities=_with_exact_ones(similarities, _text(value, "outcome") or exact),
        guesses=guesses,
        is_marked=bool(_list(value, "marks")),
        is_set_aside=_flag(value, "set_aside"),
        opened_at=_time(value, "opened_at"),
        **texts,
    )


def _attempts(value: Any, word: str) -> tuple[tuple[str, ...] | None, tuple[float, ...] | None, str]:
    """(guesses, similarities, outcome as far as they tell it)."""
    if value is None:
        return None, None, ""
    if not isinstance(value, list) or not all(isinstance(attempt, dict) for attempt in value):
        raise ValueError(_('attempts is no list of objects. Write each as {"guess": …, "similarity": …}.'))
    if len(value) > ATTEMPTS:
        raise ValueError(
            _("There are %(found)s attempts; a turn has at most %(most)s.") % {"found": len(value), "most": ATTEMPTS}
        )
    guesses, similarities = [], []
    for number, attempt in enumerate(value, start=1):
        if attempt.get("number", number) != number:
            raise ValueError(
                _("Attempt %(number)s has another number. Write the attempts in order.") % {"number": number}
            )
        guesses.append(_text(attempt, "guess"))
        similarities.append(_similarity(attempt.get("similarity"), number))
    exact = [
        is_exact(guess, word) if word and guess else similarity == 1.0
        for guess, similarity in zip(guesses, similarities, strict=True)
    ]
    if any(exact[:-1]):
        raise ValueError(
            _("Attempt %(number)s is the word, and others follow. A turn ends when the word is found.")
            % {"number": exact.index(True) + 1}
        )
    told = SOLVED[len(exact) - 1] if exact and exact[-1] else FAILED if len(exact) == ATTEMPTS else ""
    return (tuple(guesses) if all(guesses) else None), tuple(similarities), told


def _outcome(value: Mapping[str, Any], similarities: tuple[float, ...] | None, exact: str) -> str:
    outcome = _text(value, "outcome")
    if outcome and outcome not in ALL_OUTCOMES:
        raise ValueError(_("outcome is “%(cell)s”. Give one of: %(values)s.") % _choice(outcome, ALL_OUTCOMES))
    if similarities is None:
        if not outcome:
            raise ValueError(_("Neither “attempts” nor “outcome” says how the turn ended. Give one of them."))
        return outcome
    if not outcome and not exact and similarities:
        raise ValueError(
            _("The word was not found and attempts are left, so they do not say how the turn ended. Give “outcome”.")
        )
    if outcome in SOLVED and SOLVED.index(outcome) + 1 != len(similarities):
        raise ValueError(
            _("outcome is %(outcome)s, but there are %(found)s attempts.")
            % {"outcome": outcome, "found": len(similarities)}
        )
    if exact in SOLVED and outcome not in ("", exact):
        raise ValueError(
            _("outcome is %(outcome)s, but the attempts say %(exact)s.") % {"outcome": outcome, "exact": exact}
        )
    if outcome in SOLVED and exact != outcome:
        raise ValueError(_("outcome is %(outcome)s, but the last guess is not the word.") % {"outcome": outcome})
    return outcome or exact or FAILED


def _with_exact_ones(similarities: tuple[float, ...] | None, outcome: str) -> tuple[float, ...] | None:
    """The word itself has similarity 1, whatever its vector."""
    return (*similarities[:-1], 1.0) if similarities and outcome in SOLVED else similarities


def _similarity(value: Any, number: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(_("The similarity of attempt %(number)s is no number from 0 to 1.") % {"number": number})
    return float(value)


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if text is None:
        return ""
    if not isinstance(text, str) or not is_text(text):
        raise ValueError(_("%(column)s is no text.") % {"column": name})
    return text.strip()


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    given = value.get(name)
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError(_("%(column)s is no list.") % {"column": name})
    return given


def _flag(value: Mapping[str, Any], name: str) -> bool:
    given = value.get(name, False)
    if not isinstance(given, bool):
        raise ValueError(_("%(column)s is neither true nor false.") % {"column": name})
    return given


def _time(value: Mapping[str, Any], name: str) -> datetime | None:
    text = _text(value, name)
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(
            _("%(column)s is “%(cell)s”. Give a time with its offset, such as 2026-01-31T12:00:00+00:00.")
            % {"column": name, "cell": text[:40]}
        )
    return time


def _choice(cell: str, values: Sequence[str]) -> dict[str, str]:
    return {"cell": cell[:40], "values": ", ".join(values)}


def _counts_of(file: Path) -> TurnFile:
    counts: dict[str, dict[str, int]] = {}
    problems: list[Problem] = []
    with file.open("rb") as opened:
        for record in csv_records(opened, column="split"):
            if isinstance(record, BrokenRecord):
                problems.append(Problem(record.number, record.reason))
                continue
            try:
                split, of_split = _counted_row(record.value)
                if split in counts:
                    raise ValueError(_("The split %(split)s is there twice.") % {"split": split})
                counts[split] = of_split
            except ValueError as error:
                problems.append(Problem(record.number, str(error)))
    said = counts.pop(ALL, None)
    if not problems and not any(number for of_split in counts.values() for number in of_split.values()):
        problems.append(Problem(0, _("The file holds no turns.")))
    if not problems and said is not None:
        problems += _sums_differ(said, counts)
    if problems:
        raise GapFileError(file, problems)
    return TurnFile(tuple(turns_of_counts(counts)), 0)


def _counted_row(cells: Mapping[str, str]) -> tuple[str, dict[str, int]]:
    split = plain_cell(cells["split"]).strip()
    if split not in (*SPLITS, ALL):
        raise ValueError(_("split is “%(cell)s”. Give one of: %(values)s.") % _choice(split, (*SPLITS, ALL)))
    counts = {name: _whole(cells, name) for name in OUTCOMES}
    if (cells.get("total") or "").strip() and _whole(cells, "total") != sum(counts.values()):
        raise ValueError(
            _("total is %(total)s, but the outcomes make %(sum)s.")
            % {"total": cells["total"].strip(), "sum": sum(counts.values())}
        )
    return split, counts


def _whole(cells: Mapping[str, str], name: str) -> int:
    text = (cells.get(name) or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError(_("%(column)s is “%(cell)s”. Give a whole number.") % {"column": name, "cell": text[:40]})
    return int(text)


def _sums_differ(said: Mapping[str, int], counts: Mapping[str, Mapping[str, int]]) -> list[Problem]:
    return [
        Problem(0, _("%(column)s of the row “all” is not the sum of the splits.") % {"column": name})
        for name in OUTCOMES
        if said[name] != sum(of_split[name] for of_split in counts.values())
    ]
