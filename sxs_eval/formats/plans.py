"""Automatic scores from a CSV or JSON Lines file, validated before anything is planned, and plans as tables and JSON.

docs/planning.md describes both. No database is needed. All errors of a file are collected, so that it can be corrected
in one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from sxs_eval.formats.designs import PlannedDesign
from sxs_eval.rules.pace import JudgingPace
from sxs_eval.rules.planning import (
    REASONS,
    EvaluationPlan,
    MissingScore,
    ModelScore,
    PairVerdict,
    PlanCost,
    ProposedSession,
    SmallThresholds,
    difference_text,
    total_cost,
)

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")
NEEDED = ("language", "model")
SETS = 2
MAX_MODEL_NAME_CHARACTERS = 120
MAX_BYTES = 300_000
"""Scores of 40 models in 36 languages take a third of it."""
EXAMPLE = '{"language": …, "model": …, "…": 1.5, "…": 2.5}'

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class ScoreFile:
    """`sets` are the names of the two reference sets, as in the columns."""

    scores: tuple[ModelScore, ...]
    sets: tuple[str, str]
    ignored_columns: tuple[str, ...]


def read_scores(file: Path, *, sets: Sequence[str] = ()) -> ScoreFile:
    """Read all scores of a file; `sets` names the two columns to use if there are more.

    Raises FileProblemsError where any of it cannot be read or contradicts something else in it.
    """
    with LineReader(file, suffixes=SUFFIXES) as reader, file.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    return parse_scores(content, is_csv=reader.is_csv, sets=sets, file=file)


def parse_scores(
    content: bytes, *, is_csv: bool | None = None, sets: Sequence[str] = (), file: Path | None = None
) -> ScoreFile:
    """Read scores from the file's contents; without `is_csv`, the format is detected.

    Raises FileProblemsError as `read_scores`.
    """
    if is_csv is None:
        is_csv = not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))
    scores: dict[tuple[str, str], tuple[ModelScore, int]] = {}
    with LineReader(file) as reader:
        if len(content) > MAX_BYTES:
            message = _("The scores are larger than %(limit)s kB. Remove everything that is not a score.")
            raise FileRefusedError(message % {"limit": MAX_BYTES // 1000})
        lines: list[tuple[int, LineFields]] = []
        # Sets are named by their columns, as they are spelt.
        for record in reader.records(BytesIO(content), column="language", is_csv=is_csv, keeps_case=True):
            with reader.line(record):
                lines.append((record.number, LineFields(record.value, example=EXAMPLE, is_csv=is_csv)))
        if not lines and reader.problems:
            raise FileProblemsError(reader.problems, file)
        columns = _columns([fields for _number, fields in lines])
        chosen = _chosen_sets(columns, [name.strip() for name in sets])
        for number, fields in lines:
            with reader.line(number):
                score = _score(fields, chosen)
                earlier = scores.setdefault((score.language, score.model), (score, number))
                if earlier[0] is not score:
                    raise LineError(
                        _("%(model)s already has scores in %(language)s on line %(line)s. Remove one of the two lines.")
                        % {"model": score.model, "language": score.language, "line": earlier[1]}
                    )
        if not reader.problems and len({score.model for score, _number in scores.values()}) < SETS:
            reader.refuse(_("There are scores for only one model. Add at least one more model."))
    ignored = tuple(name for name in columns if name and name not in (*NEEDED, *chosen))
    return ScoreFile(tuple(score for score, _number in scores.values()), chosen, ignored)


def _columns(lines: Sequence[LineFields]) -> list[str]:
    if not lines:
        raise FileRefusedError(_("There are no scores. Add one line for each language and model."))
    columns = list(dict.fromkeys(name for fields in lines for name in fields.values))
    for name in NEEDED:
        if name not in columns:
            raise FileRefusedError(
                _("There is no column “%(column)s”. The first line must name the columns, and it has: %(columns)s.")
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
                "Besides language and model there is only %(number)d column: %(columns)s. Two are needed, one "
                "for each set of references.",
                "Besides language and model there are %(number)d columns: %(columns)s. Name the two that "
                "contain the scores, one for each set of references.",
                len(able),
            )
            % {"number": len(able), "columns": listed}
        )
    unknown = [name for name in sets if name not in able]
    if unknown:
        raise FileRefusedError(
            _("There is no column of scores named “%(column)s”. There are: %(columns)s.")
            % {"column": unknown[0], "columns": listed}
        )
    if len(sets) != SETS or sets[0] == sets[1]:
        raise FileRefusedError(_("Name two different columns of scores, one for each set of references."))
    return sets[0], sets[1]


def _score(fields: LineFields, sets: tuple[str, str]) -> ModelScore:
    try:
        language = canonical_tag(fields.text("language"))
    except MalformedTagError as error:
        raise LineError(str(error)) from error
    # Characters that look alike make one name: it is looked up among the models here.
    model = fields.text("model", needed=True, longest=MAX_MODEL_NAME_CHARACTERS, is_name=True)
    first, second = (_number(name, fields.text(name, numbers=True, is_name=True)) for name in sets)
    return ModelScore(language, model, (first, second))


def _number(name: str, text: str) -> Fraction | None:
    """Parse the number without rounding, so that a difference of 0.1 is not a little less than that."""
    if not text:
        return None
    plain = text.replace("\u2212", "-")
    if _NUMBER.fullmatch(plain):
        return Fraction(Decimal(plain))
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", plain):
        raise LineError(
            _("%(column)s is “%(cell)s”. Write numbers with a point, as in %(example)s.")
            % {"column": name, "cell": text[:40], "example": plain.replace(",", ".")[:40]}
        )
    raise LineError(
        _("%(column)s is “%(cell)s”. Give a number, or leave it empty where there is no score.")
        % {"column": name, "cell": text[:40]}
    )


@dataclass(frozen=True)
class PaceUsed:
    """`source` is "given", "measured" or "default"; `judgements` counts those measured; `note` says why none could
    be."""

    seconds: float
    source: str
    judgements: int = 0
    note: str = ""
    measured: JudgingPace | None = None

    def within_hours(self, cost: PlanCost) -> float | None:
        """How far the hours may be off; None where that is not known."""
        return self.measured.within_hours(cost.judgements + cost.attention) if self.measured else None

    def text(self) -> str:
        reasons = {
            "given": _("as entered"),
            "measured": _("the mean of %(number)s judgements") % {"number": self.judgements},
            "default": _("assumed: %(why)s") % {"why": self.note},
        }
        seconds = f"{self.seconds:.1f}".removesuffix(".0")
        return _("%(seconds)s s per judgement (%(source)s)") % {"seconds": seconds, "source": reasons[self.source]}


@dataclass(frozen=True)
class PlanReport:
    """`cost` is that of each session; all cost the same, as files do not say which images are described."""

    file: ScoreFile
    plan: EvaluationPlan
    core: Sequence[str]
    thresholds: SmallThresholds
    cost: PlanCost
    attention_percent: int
    replication: int
    pace: PaceUsed
    design: PlannedDesign | None = None
    """None where there are fewer than two images."""

    @property
    def totals(self) -> PlanCost:
        return total_cost(self.cost for session in self.plan.sessions)

    def as_json(self) -> dict[str, Any]:
        return {
            "sets": list(self.file.sets),
            "core": list(self.core),
            "thresholds": {"small": _float(self.thresholds.points), "small_percent": _float(self.thresholds.percent)},
            "replication": self.replication,
            "attention_percent": self.attention_percent,
            "pace": {"seconds": self.pace.seconds, "source": self.pace.source, "judgements": self.pace.judgements},
            "sessions": [_session_json(pair) for pair in self.plan.sessions],
            "clear": [_session_json(pair) for pair in self.plan.having(PairVerdict.CLEAR)],
            "unscored": [_session_json(pair) for pair in self.plan.having(PairVerdict.UNSCORED)],
            "missing": [
                {"language": gap.language, "model": gap.model, "sets": [self.file.sets[index] for index in gap.on_sets]}
                for gap in self.plan.missing
            ],
            "core_without_scores": list(self.plan.core_without_scores),
            "every_difference_is_small": self.plan.is_all_small,
            "ignored_columns": list(self.file.ignored_columns),
            "per_session": self._cost_json(self.cost),
            "totals": self._cost_json(self.totals) | {"sessions": self.totals.sessions},
            "power": self.design.as_json() if self.design else None,
        }

    def lines(self) -> Iterator[str]:
        a, b = self.file.sets
        yield _("Sets of references: A is %(a)s, B is %(b)s. Differences are test − base.") % {"a": a, "b": b}
        yield _("Core languages: %(core)s. A difference is small %(threshold)s.") % {
            "core": ", ".join(self.core) or _("none"),
            "threshold": thresholds_text(self.thresholds),
        }
        for warning in warnings_of(self.plan, self.file):
            yield _("Note: %(note)s") % {"note": warning}
        sessions, clear, unscored = (self.plan.having(verdict) for verdict in PairVerdict)
        yield from _part(_("Proposed: %(number)d") % {"number": len(sessions)}, sessions)
        yield from _part(_("Clear, no session needed: %(number)d") % {"number": len(clear)}, clear)
        yield from _part(_("Undecided because scores are missing: %(number)d") % {"number": len(unscored)}, unscored)
        if self.plan.missing:
            yield ""
            yield _("Missing scores: %(number)d") % {"number": len(self.plan.missing)}
            yield from ("  " + missing_text(gap, self.file.sets) for gap in self.plan.missing)
        yield ""
        yield from self._cost_lines()
        if self.design:
            yield ""
            yield from self.design.lines()
            yield _("Which gain to expect of a pair is unknown until it is judged: a difference of scores is none.")

    def _cost_lines(self) -> Iterator[str]:
        yield _("Cost, at %(pace)s:") % {"pace": self.pace.text()}
        head = ["", _("sessions"), _("images"), _("judgements"), _("attention items"), _("hours"), ""]
        rows = [
            [
                *(name, *map(str, (cost.sessions, cost.images, cost.judgements, cost.attention)), f"{cost.hours:.1f}"),
                within_text(self.pace.within_hours(cost)),
            ]
            for name, cost in ((_("per session"), self.cost), (_("in total"), self.totals))
        ]
        yield from _table([head, *rows], to_the_right=range(1, 6))

    def _cost_json(self, cost: PlanCost) -> dict[str, Any]:
        within = self.pace.within_hours(cost)
        return {
            "images": cost.images,
            "judgements": cost.judgements,
            "attention_items": cost.attention,
            "hours": round(cost.hours, 3),
            "hours_within": None if within is None else round(within, 3),
        }


def within_text(hours: float | None) -> str:
    return "" if hours is None else f"± {hours:.1f}"


def warnings_of(plan: EvaluationPlan, file: ScoreFile) -> Iterator[str]:
    if plan.is_all_small:
        yield _("Every difference counts as small. Check that the scores and the thresholds are on the same scale.")
    if plan.core_without_scores:
        yield _("No model has scores in %(languages)s, so no session is planned there.") % {
            "languages": ", ".join(plan.core_without_scores)
        }
    if file.ignored_columns:
        yield _("Columns not used: %(columns)s.") % {"columns": ", ".join(file.ignored_columns)}


def thresholds_text(thresholds: SmallThresholds) -> str:
    parts = []
    if thresholds.points:
        parts.append(_("below %(number)s score points") % {"number": _plain(thresholds.points)})
    if thresholds.percent:
        parts.append(_("below %(number)s%% of the larger score") % {"number": _plain(thresholds.percent)})
    return _(" or ").join(parts) or _("never: no threshold is set")


def missing_text(gap: MissingScore, sets: Sequence[str]) -> str:
    if not gap.is_listed:
        return _("%(model)s has no scores in %(language)s.") % {"model": gap.model, "language": gap.language}
    return _("%(model)s in %(language)s lacks: %(sets)s.") % {
        "model": gap.model,
        "language": gap.language,
        "sets": ", ".join(sets[index] for index in gap.on_sets),
    }


def _part(title: str, pairs: Iterable[ProposedSession]) -> Iterator[str]:
    rows = [
        [
            pair.language,
            pair.base,
            pair.test,
            *map(difference_text, pair.differences),
            "; ".join(str(REASONS[reason]) for reason in pair.reasons),
        ]
        for pair in pairs
    ]
    yield ""
    yield title
    if rows:
        head = [_("language"), _("base"), _("test"), _("Δ on A"), _("Δ on B"), _("reason") if rows[0][-1] else ""]
        yield from _table([head, *rows], to_the_right=(3, 4))


def _table(rows: Sequence[Sequence[str]], *, to_the_right: Iterable[int]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = set(to_the_right)
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _session_json(pair: ProposedSession) -> dict[str, Any]:
    return {
        "language": pair.language,
        "base": pair.base,
        "test": pair.test,
        "differences": [_float(difference) for difference in pair.differences],
        "reasons": [str(reason) for reason in pair.reasons],
        "expected_gain": None,
    }


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _plain(value: Fraction) -> str:
    return f"{float(value):g}"
