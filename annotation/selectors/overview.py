"""What the manager's pages show: how far every language is, who could work, and what a new project could stand on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import Count, F, Sum

from allocation.models import Assignment, AssignmentState, BatchState, Task
from allocation.selectors import PoolProgress, progress_of_pools
from annotation.models import Round
from corpus.models import Collection, CollectionImage
from inference.models import CaptioningModel, ModelCaption
from people.models import Invitation, Membership, Project, Role, User
from people.qualification import WORKING_LEVELS

ENGLISH = "en"


@dataclass(frozen=True, kw_only=True)
class RoundProgress(PoolProgress):
    """How far one language is: answers are captions, and tasks are images, as are those `left_out`."""

    round: Round
    left_out: int
    qualified: int
    invited: int

    @property
    def images(self) -> int:
        return self.tasks


@dataclass(frozen=True)
class ProjectProgress:
    rounds: Sequence[RoundProgress]

    @property
    def wanted(self) -> int:
        return sum(row.wanted for row in self.rounds)

    @property
    def done(self) -> int:
        return sum(row.done for row in self.rounds)

    @property
    def left_out(self) -> int:
        return max((row.left_out for row in self.rounds), default=0)

    @property
    def awaits_tasks(self) -> bool:
        return any(row.round.awaits_tasks for row in self.rounds)


def project_progress(project: Project, *, now: datetime) -> ProjectProgress:
    """No caption is read for it."""
    rounds = list(Round.objects.filter(project=project).select_related("language", "pool"))
    rounds.sort(key=lambda round: (round.language.english_name, round.kind, round.number))
    counted = progress_of_pools([round.pool_id for round in rounds], now=now)
    sizes = dict(
        CollectionImage.objects.filter(collection__in={round.collection_id for round in rounds})
        .values_list("collection")
        .annotate(Count("pk"))
        .order_by()
    )
    qualified = _qualified(project)
    invited = _invited(project, now)
    return ProjectProgress(
        [
            RoundProgress(
                **asdict(counted[round.pool_id]),
                round=round,
                left_out=max(0, sizes.get(round.collection_id, 0) - counted[round.pool_id].tasks),
                qualified=qualified.get(round.language_id, 0),
                invited=invited.get(round.language_id, 0),
            )
            for round in rounds
        ]
    )


def _qualified(project: Project) -> dict[str, int]:
    """Annotators per language who read English and are fluent or native; whether they consented is not asked."""
    annotators = Membership.objects.filter(project=project, role=Role.ANNOTATOR, user__reads_english=True)
    return dict(
        annotators.filter(user__language_skills__level__in=WORKING_LEVELS)
        .values_list("user__language_skills__language")
        .annotate(Count("user", distinct=True))
        .order_by()
    )


def _invited(project: Project, now: datetime) -> dict[str, int]:
    """Places per language that open invitations for annotators still have."""
    waiting = Invitation.objects.filter(
        project=project, role=Role.ANNOTATOR, revoked_at=None, expires_at__gt=now, places_taken__lt=F("places")
    )
    return dict(
        waiting.filter(languages__isnull=False)
        .values_list("languages")
        .annotate(free=Sum(F("places") - F("places_taken")))
        .order_by()
    )


@dataclass(frozen=True)
class ProjectRow:
    project: Project
    languages: int
    wanted: int
    done: int

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means finished."""
        return 100 * self.done // self.wanted if self.wanted else 0


def managed_projects(manager: User) -> list[ProjectRow]:
    """The projects of a manager and how far each is. Held places are few, so `done` is what is taken less those."""
    projects = list(Project.objects.filter(memberships__user=manager, memberships__role=Role.MANAGER))
    languages = dict(
        Round.objects.filter(project__in=projects)
        .values_list("project")
        .annotate(Count("language", distinct=True))
        .order_by()
    )
    places = {
        row["pool__round__project"]: row
        for row in Task.objects.filter(pool__round__project__in=projects)
        .values("pool__round__project")
        .annotate(wanted=Sum("places"), taken=Sum("places_taken"))
        .order_by()
    }
    held = dict(
        Assignment.objects.filter(
            state=AssignmentState.HELD, batch__state=BatchState.OPEN, batch__pool__round__project__in=projects
        )
        .values_list("batch__pool__round__project")
        .annotate(Count("pk"))
        .order_by()
    )
    nothing = {"wanted": 0, "taken": 0}
    return [
        ProjectRow(
            project=project,
            languages=languages.get(project.pk, 0),
            wanted=places.get(project.pk, nothing)["wanted"],
            done=places.get(project.pk, nothing)["taken"] - held.get(project.pk, 0),
        )
        for project in projects
    ]


@dataclass(frozen=True)
class Coverage:
    """How many images of a collection have an English caption: by each model, and by any."""

    images: int
    by_model: Sequence[tuple[CaptioningModel, int]]
    by_any: int

    @property
    def without(self) -> int:
        return self.images - self.by_any


def coverage_of(collection: Collection, captioners: Iterable[CaptioningModel] | None = None) -> Coverage:
    """Of all models, or of `captioners` only."""
    captions = ModelCaption.objects.filter(language=ENGLISH, image__collections=collection)
    if captioners is not None:
        captions = captions.filter(model__in=captioners)
    counts = dict(captions.values_list("model").annotate(Count("pk")).order_by())
    return Coverage(
        images=CollectionImage.objects.filter(collection=collection).count(),
        by_model=[(model, counts[model.pk]) for model in CaptioningModel.objects.filter(pk__in=counts)],
        by_any=captions.aggregate(images=Count("image", distinct=True))["images"],
    )
