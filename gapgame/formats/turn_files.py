"""Turns of a game as JSON Lines, in and out, and counts of their outcomes as CSV: docs/game-files.md.

Reading needs no database. All errors of a file are collected, so that it can be corrected in one go. A file with errors
gives no figures at all, since they would be meaningless.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import LineError
from gapgame.models import Season
from gapgame.rules.play import ATTEMPTS, is_exact
from gapgame.rules.turns import ALL_OUTCOMES, FAILED, OUTCOMES, SOLVED, SPLITS, PlayedTurn, turns_of_counts
from gapgame.selectors.turns import turn_records

SUFFIXES = (".jsonl", ".ndjson", ".csv")
TEXTS = ("item", "word", "player", "image", "language")
NAMES = ("player", "image")
ALL = "all"
EXAMPLE = '{"item": …, "split": …, "attempts": […]}'


@dataclass(frozen=True)
class TurnFile:
    turns: tuple[PlayedTurn, ...]
    repeated_lines: int
    """Lines that repeat an earlier one of the same turn, which counts once."""


def read_turns(file: Path) -> TurnFile:
    """Read all turns of a file, or, from a file of counts, as many turns without details.

    Raises FileProblemsError where any of it cannot be read or contradicts something else in it.
    """
    with LineReader(file, suffixes=SUFFIXES) as reader:
        turns = _counts_of(reader) if reader.is_csv else _turns_of(reader)
        if not turns.turns and not reader.problems:
            reader.refuse(_("The file has no turns."))
    return turns


def _turns_of(reader: LineReader) -> TurnFile:
    turns: list[PlayedTurn] = []
    first: dict[str, tuple[int, Any]] = {}
    repeated = 0
    for record in reader.records():
        with reader.line(record):
            turn = turn_of(record.value)
            name = LineFields(record.value).text("turn")
            earlier, said = first.setdefault(name, (record.number, hash(turn))) if name else (record.number, 0)
            if earlier == record.number:
                turns.append(turn)
            elif said == hash(turn):
                repeated += 1
            else:
                raise LineError(
                    _("The turn %(turn)s is also on line %(line)s, with other values. Remove the wrong line.")
                    % {"turn": name, "line": earlier}
                )
    return TurnFile(tuple(turns), repeated)


def turn_of(value: Any) -> PlayedTurn:
    """Read one turn from a JSON object.

    Raises LineError where it is not as docs/game-files.md says, with what is wrong and what to write.
    """
    fields = LineFields(value, example=EXAMPLE)
    texts = {name: fields.text(name, is_name=name in NAMES) for name in TEXTS}
    if not texts["item"] and not texts["word"]:
        raise LineError(_("Give “item” or “word”, to say what had to be guessed."))
    split = fields.one_of("split", SPLITS)
    guesses, similarities, exact = _attempts(value.get("attempts"), texts["word"], texts["language"])
    outcome = fields.one_of("outcome", ("", *ALL_OUTCOMES))
    return PlayedTurn(
        outcome=_outcome(outcome, similarities, exact),
        split=split,
        similarities=_with_exact_ones(similarities, outcome or exact),
        guesses=guesses,
        is_marked=bool(fields.list("marks")),
        is_set_aside=fields.flag("set_aside"),
        opened_at=fields.moment("opened_at"),
        **texts,
    )


def _attempts(value: Any, word: str, language: str) -> tuple[tuple[str, ...] | None, tuple[float, ...] | None, str]:
    """Return guesses, similarities, and the outcome as far as they determine it."""
    if value is None:
        return None, None, ""
    if not isinstance(value, list) or not all(isinstance(attempt, dict) for attempt in value):
        raise LineError(_('attempts is not a list of objects. Write each as {"guess": …, "similarity": …}.'))
    if len(value) > ATTEMPTS:
        raise LineError(
            _("There are %(found)s attempts, but a turn has at most %(most)s.")
            % {"found": len(value), "most": ATTEMPTS}
        )
    guesses, similarities = [], []
    for number, attempt in enumerate(value, start=1):
        if attempt.get("number", number) != number:
            raise LineError(
                _("Attempt %(number)s has the wrong number. Write the attempts in order.") % {"number": number}
            )
        guesses.append(LineFields(attempt).text("guess"))
        similarities.append(_similarity(attempt.get("similarity"), number))
    exact = [
        is_exact(guess, word, language=language) if word and guess else similarity == 1.0
        for guess, similarity in zip(guesses, similarities, strict=True)
    ]
    if any(exact[:-1]):
        raise LineError(
            _("Attempt %(number)s found the word, but more attempts follow. A turn ends when the word is found.")
            % {"number": exact.index(True) + 1}
        )
    outcome = SOLVED[len(exact) - 1] if exact and exact[-1] else FAILED if len(exact) == ATTEMPTS else ""
    return (tuple(guesses) if all(guesses) else None), tuple(similarities), outcome


def _outcome(outcome: str, similarities: tuple[float, ...] | None, exact: str) -> str:
    if similarities is None:
        if not outcome:
            raise LineError(_("Give “attempts” or “outcome”, to say how the turn ended."))
        return outcome
    if not outcome and not exact and similarities:
        raise LineError(_("The word was not found, but attempts are left. Give “outcome” to say how the turn ended."))
    if outcome in SOLVED and SOLVED.index(outcome) + 1 != len(similarities):
        raise LineError(
            _("outcome is %(outcome)s, but there are %(found)s attempts.")
            % {"outcome": outcome, "found": len(similarities)}
        )
    if exact in SOLVED and outcome not in ("", exact):
        raise LineError(
            _("outcome is %(outcome)s, but by the attempts it should be %(exact)s.")
            % {"outcome": outcome, "exact": exact}
        )
    if outcome in SOLVED and exact != outcome:
        raise LineError(_("outcome is %(outcome)s, but the last guess is not the word.") % {"outcome": outcome})
    return outcome or exact or FAILED


def _with_exact_ones(similarities: tuple[float, ...] | None, outcome: str) -> tuple[float, ...] | None:
    """Return the similarity; the word itself has 1, whatever its vector."""
    return (*similarities[:-1], 1.0) if similarities and outcome in SOLVED else similarities


def _similarity(value: Any, number: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise LineError(_("The similarity of attempt %(number)s is not a number from 0 to 1.") % {"number": number})
    return float(value)


def _counts_of(reader: LineReader) -> TurnFile:
    counts: dict[str, dict[str, int]] = {}
    for record in reader.records(column="split"):
        with reader.line(record):
            split, of_split = _counted_row(LineFields(record.value, is_csv=True))
            if split in counts:
                raise LineError(_("The split %(split)s is listed twice.") % {"split": split})
            counts[split] = of_split
    said = counts.pop(ALL, None)
    turns = () if reader.problems else tuple(turns_of_counts(counts))
    if turns and said is not None:
        for name in OUTCOMES:
            if said[name] != sum(of_split[name] for of_split in counts.values()):
                reader.refuse(_("%(column)s of the row “all” is not the sum of the splits.") % {"column": name})
    return TurnFile(turns, 0)


def _counted_row(fields: LineFields) -> tuple[str, dict[str, int]]:
    split = fields.one_of("split", (*SPLITS, ALL))
    counts = {name: fields.whole(name) for name in OUTCOMES}
    if fields.text("total") and fields.whole("total") != sum(counts.values()):
        raise LineError(
            _("total is %(total)s, but the outcomes add up to %(sum)s.")
            % {"total": fields.whole("total"), "sum": sum(counts.values())}
        )
    return split, counts


class SeasonNotClosedError(Exception):
    """The season is open or being scored: its turns would reveal a table of scores."""


def turn_rows(season: Season) -> Iterator[dict[str, Any]]:
    """Yield each turn.

    Raises SeasonNotClosedError at once, before anything is read.
    """
    if season.closed_at is None:
        raise SeasonNotClosedError(
            _(
                "You can download the turns of “%(season)s” once it is closed, within seconds after the "
                "cut-off. Before that, they would reveal the scores."
            )
            % {"season": season.name}
        )
    return turn_records(season)
