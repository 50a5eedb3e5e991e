"""Who worked or could work in a project, language by language: their work, batches and status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Max, Q, Sum

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Exclusion,
    Round,
    RoundKind,
    RoundState,
    Tally,
)
from annotation.rules.estimates import WorkPace, pace
from annotation.rules.tallies import TallySums
from annotation.selectors.figures import (
    AssignedWork,
    SharedRatings,
    assigned_work,
    computed_figures,
    recent_sums,
    shared_by,
    shared_in,
    shared_with,
    sums_of_rounds,
    tallies_of,
    to_correct,
)
from annotation.selectors.overview import in_campaign
from core.allocation.models import AssignmentState, Batch, BatchState
from core.languages.models import Language
from core.people.models import LanguageSkill, Membership, Project, Role, User
from core.people.selectors.qualification import WORKING_LEVELS


@dataclass(frozen=True, kw_only=True)
class AnnotatorRow:
    """One person in one language. `rated` counts others' captions; the other ratings are of English captions.

    `status` is empty if nothing was decided.
    """

    person: User
    language: Language
    sums: TallySums
    rated: int
    unfinished: AssignedWork
    to_correct: int
    pace: WorkPace
    shared: SharedRatings | None
    status: str
    is_excluded: bool
    is_member: bool


@dataclass(frozen=True, kw_only=True)
class RoundOfOne:
    """One person in one round, and how far everybody in it agrees, to compare with."""

    round: Round
    sums: TallySums
    unfinished: AssignedWork
    to_correct: int
    shared: SharedRatings | None
    shared_by_all: SharedRatings | None
    by_all: TallySums

    @property
    def is_rating(self) -> bool:
        return self.round.kind == RoundKind.VERIFICATION


def annotators(project: Project, *, now: datetime) -> list[AnnotatorRow]:
    """List annotators by name, then by language: everybody with the role who knows the language well enough.

    Raters are listed once they have rated captions.
    """
    rounds = {round.pk: round for round in project.rounds.select_related("language").order_by("pk")}
    languages = {round.language_id: round.language for round in rounds.values()}
    today = now.astimezone(UTC).date()
    tallies = Tally.objects.filter(round__project=project)
    writing, by = tallies.exclude(round__kind=RoundKind.VERIFICATION), ("person", "round__language")
    wrote = dict(recent_sums(writing, by=by, today=today))
    ratings = tallies.filter(round__kind=RoundKind.VERIFICATION).order_by().values_list(*by)
    rated = {one[:2]: one[2:] for one in ratings.annotate(Sum("captions"), Max("last_at"))}
    shared: dict[tuple[int, str], list[SharedRatings]] = defaultdict(list)
    unfinished: dict[tuple[int, str], list[AssignedWork]] = defaultdict(list)
    back: dict[tuple[int, str], int] = defaultdict(int)
    for (round_id, person_id), one in shared_with(project):
        shared[person_id, rounds[round_id].language_id].append(one)
    for (round_id, person_id), work in assigned_work(rounds.values(), now=now).items():
        unfinished[person_id, rounds[round_id].language_id].append(work)
    for (round_id, person_id), number in to_correct(project).items():
        back[person_id, rounds[round_id].language_id] += number
    members = dict(_members(project))
    statuses, excluded = _statuses(project)
    annotators = [person for person, role in members.items() if role == Role.ANNOTATOR]
    keys = {*wrote, *rated, *unfinished, *_able(annotators, languages)}
    people = User.objects.only("username").in_bulk({person for person, _ in keys})
    rows = []
    for person_id, tag in keys:
        key = (person_id, tag)
        written, (number, rated_at) = wrote.get(key, TallySums()), rated.get(key, (0, None))
        written.last_at = max(filter(None, (written.last_at, rated_at)), default=None)
        rows.append(
            AnnotatorRow(
                person=people[person_id],
                language=languages[tag],
                sums=written,
                rated=number,
                unfinished=sum(unfinished[key], AssignedWork()),
                to_correct=back[key],
                pace=pace(written.days, total=written.captions, today=today),
                shared=_together(shared[key]),
                status=statuses.get(key, ""),
                is_excluded=key in excluded,
                is_member=person_id in members,
            )
        )
    return sorted(rows, key=lambda row: (row.person.username.casefold(), row.language.english_name))


def _members(project: Project) -> Iterable[tuple[int, str]]:
    """List those who write, and those who only rate what others wrote."""
    members = Membership.objects.filter(project=project, role__in=[Role.ANNOTATOR, Role.RATER])
    return members.order_by("-role").values_list("user", "role")


def _able(members: Iterable[int], languages: Mapping[str, Language]) -> Iterable[tuple[int, str]]:
    skills = LanguageSkill.objects.filter(user__in=members, language__in=languages, level__in=WORKING_LEVELS)
    return skills.values_list("user", "language")


def _statuses(project: Project) -> tuple[dict[tuple[int, str], str], set[tuple[int, str]]]:
    decided = AnnotatorStatus.objects.filter(project=project).values_list("person", "language", "state")
    excluded = Exclusion.objects.filter(project=project, undone_at=None).values_list("person", "language")
    return {(person, tag): state for person, tag, state in decided}, set(excluded)


def _together(shared: Sequence[SharedRatings]) -> SharedRatings | None:
    """Combine several rounds: all pairs, and the alpha of the round with most pairs, as alphas cannot be added."""
    if not shared:
        return None
    largest = max(shared, key=lambda one: one.pairs)
    return SharedRatings(sum(one.pairs for one in shared), sum(one.same for one in shared), largest.alpha)


def is_of_project(person: User, project: Project) -> bool:
    """Return whether a person captions or rates captions in a project, or ever did."""
    return (
        Membership.objects.filter(project=project, user=person, role__in=[Role.ANNOTATOR, Role.RATER]).exists()
        or Tally.objects.filter(round__project=project, person=person).exists()
        or Batch.objects.filter(pool__round__project=project, person=person).exists()
    )


def rounds_of_one(project: Project, person: User, *, now: datetime) -> list[RoundOfOne]:
    """List the rounds in which somebody worked or has a batch, beside everybody's figures for them."""
    everybody = assigned_work(project.rounds.all(), now=now)
    unfinished = {key: work for key, work in everybody.items() if key[1] == person.pk}
    theirs = {round for round, _ in unfinished} | set(
        Tally.objects.filter(round__project=project, person=person).values_list("round", flat=True)
    )
    rounds = project.rounds.filter(pk__in=theirs)
    own = {round_id: sums for (round_id, _), sums in tallies_of(rounds, person=person)}
    kept, back = computed_figures(project), to_correct(project)
    by_all = sums_of_rounds(rounds, kept)
    rows = [
        RoundOfOne(
            round=round,
            sums=own.get(round.pk, TallySums()),
            unfinished=unfinished.get((round.pk, person.pk), AssignedWork()),
            to_correct=back.get((round.pk, person.pk), 0),
            shared=shared_by(kept.get(round.pk), person.pk),
            shared_by_all=shared_in(kept.get(round.pk)),
            by_all=by_all.get(round.pk) or TallySums(),
        )
        for round in rounds.select_related("language", "verifies")
    ]
    return sorted(rows, key=lambda row: in_campaign(row.round))


def open_batches(project: Project, person: User, *, now: datetime) -> list[dict[str, Any]]:
    """List the unfinished batches that a person has in a project, by deadline.

    `takers` could probably take one over; there are none if it cannot be moved.
    """
    assigned = Batch.objects.filter(state=BatchState.OPEN, pool__round__project=project, person=person)
    count = Count("assignments", filter=Q(assignments__state=AssignmentState.ASSIGNED))
    batches = assigned.annotate(images=count).select_related("person", "pool__round__language", "pool__round__verifies")
    ordered = list(batches.order_by("deadline", "pk"))
    rounds: list[Round] = [batch.pool.round for batch in ordered if batch.deadline > now]
    can_be_moved = [one for one in rounds if one.kind != RoundKind.VERIFICATION and one.state == RoundState.OPEN]
    takers = _takers(project, can_be_moved)
    return [{"batch": batch, "is_overdue": batch.deadline <= now, "takers": takers[batch.pool_id]} for batch in ordered]


def _takers(project: Project, rounds: Sequence[Round]) -> dict[int, list[User]]:
    """By pool: who speaks the language, is not paused in it, and has no open batch of the pool."""
    takers: dict[int, list[User]] = defaultdict(list)
    if not rounds:
        return takers
    annotators = Membership.objects.filter(project=project, role=Role.ANNOTATOR, user__reads_english=True)
    skills = LanguageSkill.objects.filter(
        level__in=WORKING_LEVELS,
        language__in={round.language_id for round in rounds},
        user__in=annotators.values("user"),
    )
    speakers = list(skills.select_related("user").order_by("user__username"))
    paused = set(
        AnnotatorStatus.objects.filter(project=project, state=AnnotatorState.PAUSED).values_list("person", "language")
    )
    pools = [round.pool_id for round in rounds]
    busy = set(Batch.objects.filter(state=BatchState.OPEN, pool__in=pools).values_list("pool", "person"))
    for round in rounds:
        takers[round.pool_id] = [
            skill.user
            for skill in speakers
            if skill.language_id == round.language_id
            and (skill.user_id, skill.language_id) not in paused
            and (round.pool_id, skill.user_id) not in busy
        ]
    return takers
