"""The overview for managers and researchers: the progress of each comparison, and its raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import Count

from core.allocation.selectors import PoolProgress, progress_of_pools
from core.people.models import Membership, Project, Role, User
from core.people.permissions import READERS
from core.people.selectors.qualification import WORKING_LEVELS
from research.inference.models import CaptioningModel
from sxs_eval.models import Comparison, EqualCaptions, Pair, RaterState, RaterStatus


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
