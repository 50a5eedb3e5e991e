"""The manager's pages: the progress of each language, who could work, and what a new project could use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Round,
    RoundFigures,
    RoundKind,
    RoundState,
    Tally,
)
from annotation.permissions import REVIEWER_ROLES
from annotation.rules.estimates import WorkPace, pace
from annotation.rules.tallies import TallySums
from annotation.selectors.figures import (
    AssignedWork,
    KeptFigures,
    SharedRatings,
    assigned_work,
    kept_figures,
    recent_sums,
    to_correct,
)
from core.images.models import Collection, CollectionImage
from core.languages.rules.registry import ENGLISH
from core.people.models import Invitation, Membership, Project, Role, User
from core.people.selectors.qualification import WORKING_LEVELS
from research.inference.models import CaptioningModel, ModelCaption


@dataclass(frozen=True, kw_only=True)
class RoundProgress:
    """The progress of one round: wanted, done, assigned, late and returned count captions, or ratings of them.

    `able` and `invited` count people, `batches` and `expired` batches; images `left_out` have no English
    caption. `quality` has the figures of a round of verification; `last_at` is when somebody last submitted.
    """

    round: Round
    tasks: int
    wanted: int
    done: int
    assigned: int
    expired: int
    late: int
    to_correct: int
    left_out: int
    able: int
    invited: int
    batches: int
    last_at: datetime | None
    quality: Mapping[str, Any]
    pace: WorkPace
    ends_on: date | None
    minutes: float | None
    overridden: int
    shared: SharedRatings | None

    @property
    def open(self) -> int:
        return max(0, self.wanted - self.done - self.assigned - self.to_correct)

    @property
    def is_finished(self) -> bool:
        return 0 < self.wanted == self.done

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means finished."""
        return 100 * self.done // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class ProjectProgress:
    """`rounds` by the English name of their language, then in the order in which they are worked on."""

    rounds: Sequence[RoundProgress]

    @property
    def counted(self) -> list[RoundProgress]:
        """The rounds that the project's bar counts: each language's main round, or its pilots before that begins."""
        mains = [row for row in self.rounds if row.round.kind == RoundKind.MAIN and row.wanted]
        begun = {row.round.language_id for row in mains}
        pilots = [row for row in self.rounds if row.round.kind == RoundKind.PILOT]
        return mains + [row for row in pilots if row.round.language_id not in begun]

    @property
    def wanted(self) -> int:
        return sum(row.wanted for row in self.counted)

    @property
    def done(self) -> int:
        return sum(row.done for row in self.counted)

    @property
    def left_out(self) -> int:
        return max((row.left_out for row in self.rounds), default=0)

    @property
    def awaits_tasks(self) -> bool:
        return any(row.round.awaits_tasks for row in self.rounds)


def project_progress(project: Project, *, now: datetime) -> ProjectProgress:
    """Compute progress from tallies, figures and unfinished batches, without counting captions, items or tasks."""
    by_pk = Round.objects.filter(project=project).select_related("language", "pool").in_bulk()
    for round in by_pk.values():
        round.project = project
        if round.verifies_id:
            round.verifies = by_pk[round.verifies_id]
    rounds = sorted(by_pk.values(), key=in_campaign)
    today = now.astimezone(UTC).date()
    kept = kept_figures(project)
    tallies = Tally.objects.filter(round__project=project)
    work = {round_id: sums for (round_id,), sums in recent_sums(tallies, by=["round"], today=today)}
    assigned: dict[int, list[AssignedWork]] = defaultdict(list)
    for (round_id, _), unfinished in assigned_work(rounds, now=now).items():
        assigned[round_id].append(unfinished)
    back: Counter[int] = Counter()
    for (round_id, _), number in to_correct(project).items():
        back[round_id] += number
    sizes = _sizes(rounds)
    people = _PeopleByLanguage(project, now)
    return ProjectProgress(
        [
            _progress(
                round,
                kept.get(round.pk, KeptFigures()),
                work.get(round.pk) or TallySums(),
                assigned[round.pk],
                to_correct=back[round.pk],
                size=sizes.get(round.collection_id, 0),
                able=people.able(round),
                invited=people.invited(round),
                today=today,
            )
            for round in rounds
        ]
    )


def _progress(
    round: Round,
    kept: KeptFigures,
    sums: TallySums,
    assigned: Sequence[AssignedWork],
    *,
    to_correct: int,
    size: int,
    able: int,
    invited: int,
    today: date,
) -> RoundProgress:
    wanted, done = kept.wanted, sums.captions
    if round.source:
        # Captions from a file have no author, and so no tally.
        done = kept.captions
        wanted = max(wanted, done)
    unfinished = sum(assigned, AssignedWork())
    how_fast = pace(sums.days, total=sums.captions, today=today)
    is_worked_on = round.state in (RoundState.OPEN, RoundState.CLOSED)
    # Tasks are created once a round is open. Until all are, nobody knows which images lack a caption.
    has_images = round.kind == RoundKind.MAIN and not round.source and round.state != RoundState.PLANNED
    has_images = has_images and not round.awaits_tasks
    return RoundProgress(
        round=round,
        tasks=kept.tasks,
        wanted=wanted,
        done=done,
        assigned=unfinished.images,
        expired=unfinished.expired,
        late=sums.late,
        to_correct=to_correct,
        left_out=max(0, size - kept.tasks) if has_images else 0,
        able=able,
        invited=invited,
        batches=unfinished.batches,
        last_at=sums.last_at,
        quality=kept.quality,
        pace=how_fast,
        ends_on=how_fast.ends_on(wanted - done, today=today) if is_worked_on else None,
        minutes=sums.minutes_per_caption,
        overridden=sums.overridden,
        shared=kept.shared,
    )


def in_campaign(round: Round) -> tuple[str, str, bool, int, bool, int]:
    """Pilots, each followed by its rating, then the main round and its verification."""
    of = round.verifies or round
    language = round.language
    return (language.english_name, language.pk, of.kind != RoundKind.PILOT, of.number, round is not of, round.number)


def _sizes(rounds: Iterable[Round]) -> dict[int, int]:
    return dict(
        CollectionImage.objects.in_results()
        .filter(collection__in={round.collection_id for round in rounds})
        .values_list("collection")
        .annotate(Count("pk"))
        .order_by()
    )


class _PeopleByLanguage:
    """How many people could work in the rounds of a project, by language; consent is not considered."""

    def __init__(self, project: Project, now: datetime) -> None:
        fluent = Membership.objects.filter(
            project=project, role__in=REVIEWER_ROLES, user__language_skills__level__in=WORKING_LEVELS
        ).values("user__language_skills__language")
        writes = Q(role=Role.ANNOTATOR, user__reads_english=True)
        counts = fluent.annotate(
            writers=Count("user", filter=writes, distinct=True), reviewers=Count("user", distinct=True)
        ).order_by()
        self._able = {one["user__language_skills__language"]: (one["writers"], one["reviewers"]) for one in counts}
        qualified = AnnotatorStatus.objects.filter(project=project, state=AnnotatorState.QUALIFIED)
        self._qualified = dict(qualified.values_list("language").annotate(Count("person")).order_by())
        self._invited = _invited(project, now)

    def able(self, round: Round) -> int:
        """Count who could write, or rate: those who read English, reviewers too, or those whom a manager qualified."""
        if round.needs_qualification:
            return self._qualified.get(round.language_id, 0)
        return self._able.get(round.language_id, (0, 0))[round.kind == RoundKind.VERIFICATION]

    def invited(self, round: Round) -> int:
        writers, reviewers = self._invited.get(round.language_id, (0, 0))
        return writers + reviewers if round.kind == RoundKind.VERIFICATION else writers


def _invited(project: Project, now: datetime) -> dict[str, tuple[int, int]]:
    """Count the places per language on open invitations: for annotators, and for reviewers."""
    waiting = Invitation.objects.filter(
        project=project, role__in=REVIEWER_ROLES, revoked_at=None, expires_at__gt=now, places_taken__lt=F("places")
    )
    by_language: dict[str, Counter[str]] = defaultdict(Counter)
    rows = waiting.filter(languages__isnull=False).values_list("languages", "role")
    for language, role, number in rows.annotate(free=Sum(F("places") - F("places_taken"))).order_by():
        by_language[language][role] += number
    return {language: (free[Role.ANNOTATOR], free[Role.RATER]) for language, free in by_language.items()}


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


def managed_projects(manager: User, *, archived: bool = False) -> list[ProjectRow]:
    """List the projects of a manager with their progress, as in the bar on their pages (`ProjectProgress.counted`)."""
    managed = Project.objects.filter(memberships__user=manager, memberships__role=Role.MANAGER, deletion=None)
    projects = list(managed.filter(archived_at__isnull=not archived))
    rounds = Round.objects.filter(project__in=projects).order_by()
    languages = dict(rounds.values_list("project").annotate(Count("language", distinct=True)))
    wanted = _by_language(RoundFigures.objects.filter(round__project__in=projects), "wanted")
    done = _by_language(Tally.objects.filter(round__project__in=projects), "captions")
    for where, number in _from_files(projects):
        # They have no author, and so no tally.
        done[where] += number
        wanted[where] = max(wanted[where], done[where])
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for (project_id, language, kind), number in wanted.items():
        if kind == RoundKind.MAIN or (
            kind == RoundKind.PILOT and not wanted.get((project_id, language, RoundKind.MAIN))
        ):
            sums[project_id][0] += number
            sums[project_id][1] += done[project_id, language, kind]
    return [ProjectRow(project, languages.get(project.pk, 0), *sums[project.pk]) for project in projects]


def _by_language(rows: QuerySet[Any], column: str) -> Counter[tuple[int, str, str]]:
    summed = rows.order_by().values_list("round__project", "round__language", "round__kind").annotate(sum=Sum(column))
    return Counter({(project, language, kind): number or 0 for project, language, kind, number in summed})


def _from_files(projects: Sequence[Project]) -> Iterable[tuple[tuple[int, str, str], int]]:
    kept = RoundFigures.objects.filter(round__project__in=projects).exclude(round__source="")
    for one in kept.select_related("round"):
        yield (one.round.project_id, one.round.language_id, one.round.kind), one.figures.get("captions", 0)


@dataclass(frozen=True)
class EnglishCoverage:
    """How many images of a collection have an English caption: by each model, and by any."""

    images: int
    by_model: Sequence[tuple[CaptioningModel, int]]
    by_any: int

    @property
    def without(self) -> int:
        return self.images - self.by_any


def coverage_of(collection: Collection, captioners: Iterable[CaptioningModel]) -> EnglishCoverage:
    """Count images with a caption in use by any of `captioners`."""
    captions = ModelCaption.objects.in_use().filter(
        language=ENGLISH, image__collections=collection, model__in=captioners
    )
    counts = dict(captions.values_list("model").annotate(Count("pk")).order_by())
    return EnglishCoverage(
        images=collection.entries.in_results().count(),
        by_model=[(model, counts[model.pk]) for model in CaptioningModel.objects.filter(pk__in=counts)],
        by_any=captions.aggregate(images=Count("image", distinct=True))["images"],
    )
