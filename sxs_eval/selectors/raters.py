"""The work of each rater of a comparison, for managers' decisions about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from core.people.models import User
from sxs_eval.models import LEFT_OUT, Comparison, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.rules.judging import has_failed
from sxs_eval.rules.scripted import JudgingScriptRule
from sxs_eval.selectors.scripted import scripted_raters

MAX_FAILURES_SHOWN = 20


@dataclass
class CheckCounts:
    """Attention items of one kind."""

    passed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed


@dataclass
class RaterRow:
    """One rater. `judged` counts answers to pairs that were not late; `left` and `decided` are among those."""

    person: User
    status: RaterStatus | None
    judged: int = 0
    late: int = 0
    left: int = 0
    decided: int = 0
    gold: CheckCounts = field(default_factory=CheckCounts)
    repeats: CheckCounts = field(default_factory=CheckCounts)
    active_ms: list[int] = field(default_factory=list)
    scripted: Mapping[JudgingScriptRule, str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return self.status.state if self.status else ""

    @property
    def is_paused(self) -> bool:
        return self.state == RaterState.PAUSED

    @property
    def is_excluded(self) -> bool:
        return self.state in LEFT_OUT

    @property
    def counts_although_scripted(self) -> bool:
        """Whether answers that look scripted count, and no manager has decided that they may."""
        return bool(self.scripted) and self.status is None

    @property
    def failed(self) -> int:
        return self.gold.failed + self.repeats.failed

    @property
    def median_s(self) -> float | None:
        return median(self.active_ms) / 1000 if self.active_ms else None

    @property
    def left_percent(self) -> int | None:
        """How often the left side was better, among pairs with a better side."""
        return round(100 * self.left / self.decided) if self.decided else None


def raters_of(comparison: Comparison) -> list[RaterRow]:
    """List everybody with an answer or a decision about them: paused raters first, then by user name."""
    statuses = {
        row.person_id: row for row in RaterStatus.objects.filter(comparison=comparison).select_related("decided_by")
    }
    answers: dict[int, list[tuple[str, int, int, int, bool, int | None]]] = defaultdict(list)
    judgements = Judgement.objects.filter(comparison=comparison, choice__isnull=False)
    columns = ("person", "kind", "score", "choice", "active_ms", "is_late", "repeated__score")
    for person, *answer in judgements.order_by().values_list(*columns):
        answers[person].append(tuple(answer))
    scripted = scripted_raters(comparison)
    rows = []
    for person in User.objects.filter(pk__in={*answers, *statuses}).order_by("username"):
        row = RaterRow(person, statuses.get(person.pk), scripted=scripted.get(person.pk, {}))
        for answer in answers[person.pk]:
            _count(row, *answer)
        rows.append(row)
    return sorted(rows, key=lambda row: not row.is_paused)


def _count(
    row: RaterRow, kind: str, score: int, choice: int, active_ms: int, is_late: bool, first_score: int | None
) -> None:
    if is_late:
        row.late += kind == TrialKind.PAIR
    elif kind == TrialKind.PAIR:
        row.judged += 1
        row.left += choice > 0
        row.decided += choice != 0
        row.active_ms.append(active_ms)
    else:
        checks = row.gold if kind == TrialKind.GOLD else row.repeats
        is_failed = has_failed(kind, score, first_score)
        checks.failed += is_failed
        checks.passed += not is_failed


def failures_of(comparison: Comparison, rater: User) -> Sequence[Judgement]:
    """List the last attention items that a rater failed, the latest first."""
    checks = (
        Judgement.objects.filter(comparison=comparison, person=rater, choice__isnull=False, is_late=False)
        .exclude(kind=TrialKind.PAIR)
        .select_related("pair__image", "pair__base_caption", "pair__test_caption", "gold__image", "repeated")
        .order_by("-judged_at", "-pk")
    )
    failed = [
        check
        for check in checks
        if has_failed(check.kind, check.score or 0, check.repeated.score if check.repeated else None)
    ]
    return failed[:MAX_FAILURES_SHOWN]
