"""A plan as a table for a terminal, and as JSON with stable keys for programs: docs/planning.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _

from sxs_eval.formats.scores import ScoreFile
from sxs_eval.rules.planning import (
    REASONS,
    EvaluationPlan,
    MissingScore,
    PairVerdict,
    PlanCost,
    ProposedSession,
    SmallThresholds,
    difference_text,
    total_cost,
)


@dataclass(frozen=True)
class PaceUsed:
    """`source` is "given", "measured" or "default"; `judgements` counts those measured; `note` says why none could
    be."""

    seconds: float
    source: str
    judgements: int = 0
    note: str = ""

    def text(self) -> str:
        reasons = {
            "given": _("as entered"),
            "measured": _("the median of %(number)s judgements") % {"number": self.judgements},
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
            "per_session": _cost_json(self.cost),
            "totals": _cost_json(self.totals) | {"sessions": self.totals.sessions},
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

    def _cost_lines(self) -> Iterator[str]:
        yield _("Cost, at %(pace)s:") % {"pace": self.pace.text()}
        head = ["", _("sessions"), _("images"), _("judgements"), _("attention items"), _("hours")]
        rows = [
            [name, *map(str, (cost.sessions, cost.images, cost.judgements, cost.attention)), f"{cost.hours:.1f}"]
            for name, cost in ((_("per session"), self.cost), (_("in total"), self.totals))
        ]
        yield from _table([head, *rows], to_the_right=range(1, 6))


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
    }


def _cost_json(cost: PlanCost) -> dict[str, Any]:
    return {
        "images": cost.images,
        "judgements": cost.judgements,
        "attention_items": cost.attention,
        "hours": round(cost.hours, 3),
    }


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _plain(value: Fraction) -> str:
    return f"{float(value):g}"
