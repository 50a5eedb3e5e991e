"""The overview for managers and researchers: the progress of each comparison, and the work of its raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from statistics import median
from uuid import UUID

from django.db.models import Count
from django.db.models.functions import Coalesce, Length

from core.allocation.selectors import PoolProgress, progress_of_pools
from core.people.models import Membership, Project, Role, User
from core.people.permissions import READERS
from core.people.selectors.qualification import WORKING_LEVELS
from research.inference.models import CaptioningModel
from sxs_eval.models import LEFT_OUT, Comparison, EqualCaptions, Judgement, Pair, RaterState, RaterStatus, TrialKind
from sxs_eval.rules.judging import JudgingScriptRule, has_failed, reading_s, rules_broken

MAX_FAILURES_SHOWN = 20


def scripted_raters(comparison: Comparison) -> dict[int, Mapping[JudgingScriptRule, str]]:
    """Return the rules that raters' answers break, by rater, if any. Of answers from a file, too little is known.

    Answers that were given without a connection come together: such a one took its active time, and no time since the
    one before it. Active times never add up to more than the time since their batch was taken.
    """
    if comparison.source:
        return {}
    of_both = Coalesce(
        Length("pair__base_caption__text") + Length("pair__test_caption__text"),
        Length("gold__better") + Length("gold__worse"),
    )
    answers = Judgement.objects.filter(comparison=comparison, judged_at__isnull=False).annotate(length=of_both)
    in_order = answers.order_by("judged_at", "position")
    scripts = comparison.language.scripts
    before: dict[UUID, datetime] = {}
    seconds: dict[int, list[float]] = defaultdict(list)
    reading: dict[int, list[float]] = defaultdict(list)
    columns = ("person", "batch", "judged_at", "active_ms", "batch__lease__taken_at", "length")
    for person, batch, judged_at, active_ms, taken_at, length in in_order.values_list(*columns).iterator():
        assert judged_at is not None
        since = (judged_at - before.get(batch, taken_at)).total_seconds()
        seconds[person].append(max(since, active_ms / 1000))
        reading[person].append(reading_s(length, scripts))
        before[batch] = judged_at
    return {person: broken for person, taken in seconds.items() if (broken := rules_broken(taken, reading[person]))}


@dataclass(frozen=True, kw_only=True)
class ComparisonProgress(PoolProgress):
    """The progress of one comparison: answers are judgements, tasks are pairs to be judged.

    `unseen` are the pairs that count as SIMILAR without being shown; `paused` and `qualified` count raters.
    """

    comparison: Comparison
    unseen: int
    paused: int
    qualified: int

    @property
    def models(self) -> tuple[CaptioningModel, CaptioningModel]:
        return self.comparison.base, self.comparison.test


@dataclass(frozen=True)
class EvaluationProgress:
    """All comparisons of a project."""

    comparisons: Sequence[ComparisonProgress]

    @property
    def wanted(self) -> int:
        return sum(row.wanted for row in self.comparisons)

    @property
    def done(self) -> int:
        return sum(row.done for row in self.comparisons)

    @property
    def awaits_pairs(self) -> bool:
        return any(row.comparison.awaits_pairs for row in self.comparisons)

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means finished."""
        return 100 * self.done // self.wanted if self.wanted else 0

    @property
    def languages(self) -> int:
        return len({row.comparison.language_id for row in self.comparisons})

    @property
    def paused_raters(self) -> int:
        return sum(row.paused for row in self.comparisons)

    @property
    def paused(self) -> Sequence[ComparisonProgress]:
        """Those with raters whom a manager has to decide about."""
        return [row for row in self.comparisons if row.paused]


def project_progress(project: Project, *, now: datetime) -> EvaluationProgress:
    in_project = Comparison.objects.filter(project=project).select_related(
        "language", "pool", "base", "test", "collection"
    )
    comparisons = sorted(in_project, key=lambda row: (row.base.name, row.test.name, row.language.english_name, row.pk))
    return EvaluationProgress(progress_of(comparisons, now=now))


def progress_of(
    comparisons: Sequence[Comparison], *, now: datetime, has_qualified: bool = True
) -> list[ComparisonProgress]:
    """Compute the progress of `comparisons`, without reading judgements.

    They are of one project unless `has_qualified` is False: then `qualified` is 0.
    """
    counted = progress_of_pools([row.pool_id for row in comparisons], now=now)
    unseen, paused = _unseen(comparisons), _paused(comparisons)
    qualified = _qualified({row.project_id for row in comparisons}) if has_qualified else {}
    return [
        ComparisonProgress(
            **asdict(counted[row.pool_id]),
            comparison=row,
            unseen=unseen.get(row.pk, 0),
            paused=paused.get(row.pk, 0),
            qualified=qualified.get(row.language_id, 0),
        )
        for row in comparisons
    ]


def _unseen(comparisons: Sequence[Comparison]) -> dict[int, int]:
    counting = [row.pk for row in comparisons if row.equal_captions == EqualCaptions.SIMILAR]
    pairs = Pair.objects.filter(comparison__in=counting, task=None)
    return dict(pairs.values_list("comparison").annotate(Count("pk")).order_by()) if counting else {}


def _paused(comparisons: Sequence[Comparison]) -> dict[int, int]:
    statuses = RaterStatus.objects.filter(comparison__in=comparisons, state=RaterState.PAUSED)
    return dict(statuses.values_list("comparison").annotate(Count("pk")).order_by())


def _qualified(projects: Iterable[int]) -> dict[str, int]:
    """Count raters per language who are fluent or native; consent is not considered."""
    raters = Membership.objects.filter(project__in=projects, role=Role.RATER)
    return dict(
        raters.filter(user__language_skills__level__in=WORKING_LEVELS)
        .values_list("user__language_skills__language")
        .annotate(Count("user", distinct=True))
        .order_by()
    )


def evaluations_of(reader: User, *, now: datetime) -> list[tuple[Project, EvaluationProgress]]:
    """List the projects that `reader` manages or does research in, with their comparisons."""
    mine = Project.objects.filter(memberships__user=reader, memberships__role__in=READERS)
    projects = mine.distinct().order_by("name").prefetch_related("comparisons")
    everything = [comparison for project in projects for comparison in project.comparisons.all()]
    of_project: dict[int, list[ComparisonProgress]] = defaultdict(list)
    for row in progress_of(everything, now=now, has_qualified=False):
        of_project[row.comparison.project_id].append(row)
    return [(project, EvaluationProgress(of_project[project.pk])) for project in projects]


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
    answers: dict[int, list[tuple[str, int, bool | None, int, bool, int | None]]] = defaultdict(list)
    judgements = Judgement.objects.filter(comparison=comparison, choice__isnull=False)
    columns = ("person", "kind", "score", "test_is_left", "active_ms", "is_late", "repeated__score")
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
    row: RaterRow,
    kind: str,
    score: int,
    test_is_left: bool | None,
    active_ms: int,
    is_late: bool,
    first_score: int | None,
) -> None:
    if is_late:
        row.late += kind == TrialKind.PAIR
    elif kind == TrialKind.PAIR:
        row.judged += 1
        if score and test_is_left is not None:
            row.left += (score > 0) == test_is_left
            row.decided += 1
        if active_ms:
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
