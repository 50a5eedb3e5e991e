"""Figures of rounds and people without counting captions: tallies, and the few unfinished batches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db.models import Aggregate, Count, IntegerField, Max, Q, QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from annotation.models import Caption, CorrectionRequest, Round, RoundFigures, Stage, Tally
from annotation.rules import text_checks
from annotation.rules.estimates import window
from annotation.rules.tallies import COLUMNS, TallySums, sums_from_json, total_sums
from annotation.selectors.quality import QUALITY
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState
from core.people.models import Project, User

SUMS = "sums"
"""The key of `RoundFigures.figures` with the sums of all tallies of the round."""
Key = tuple[int, int]
"""A round and a person."""


@dataclass
class AssignedWork:
    """Somebody's unfinished work in a round: batches and images within their deadline, and expired batches."""

    batches: int = 0
    images: int = 0
    expired: int = 0

    def __add__(self, other: AssignedWork) -> AssignedWork:
        return AssignedWork(self.batches + other.batches, self.images + other.images, self.expired + other.expired)


@dataclass(frozen=True)
class SharedRatings:
    """Agreement on English captions that several people rated; None if it was not computed or has no value."""

    pairs: int
    same: int
    alpha: float | None

    @property
    def exact(self) -> float | None:
        return self.same / self.pairs if self.pairs else None


@dataclass(frozen=True)
class KeptFigures:
    """The places of a round, and of what was computed in the background: captions that count, quality, agreement."""

    tasks: int = 0
    wanted: int = 0
    captions: int = 0
    quality: Mapping[str, Any] = field(default_factory=dict)
    shared: SharedRatings | None = None


def tallies_of(
    rounds: QuerySet[Round], *, columns: tuple[str, ...] = COLUMNS, person: User | None = None
) -> Iterator[tuple[Key, TallySums]]:
    """Yield the tallies of every person in every round, or of one; only `columns` are read."""
    tallies = Tally.objects.filter(round__in=rounds)
    if person:
        tallies = tallies.filter(person=person)
    for round, one, *values in tallies.values_list("round", "person", *columns):
        yield (round, one), TallySums(**dict(zip(columns, values, strict=True)))


def recent_sums(
    tallies: QuerySet[Tally], *, by: Sequence[str], today: date
) -> Iterator[tuple[tuple[Any, ...], TallySums]]:
    """Add up tallies in the database, by the fields `by`; `days` has only those that count for the pace.

    Reading them all to add them up here takes five times as long.
    """
    days, codes = window(today), text_checks.WARNINGS
    sums: list[Aggregate] = [Sum("captions"), Sum("late"), Sum("rating_ms"), Sum("writing_ms"), Max("last_at")]
    sums += [_sum_in("days", day) for day in days] + [_sum_in("warnings", code) for code in codes]
    named = {f"sum_{number}": one for number, one in enumerate(sums)}
    for row in tallies.order_by().values_list(*by).annotate(**named):
        captions, late, rating_ms, writing_ms, last_at, *counts = row[len(by) :]
        yield (
            row[: len(by)],
            TallySums(
                captions=captions,
                late=late,
                rating_ms=rating_ms,
                writing_ms=writing_ms,
                last_at=last_at,
                days=_counted(days, counts[: len(days)]),
                warnings=_counted(codes, counts[len(days) :]),
            ),
        )


def _sum_in(table: str, key: str) -> Sum:
    return Sum(Cast(KeyTextTransform(key, table), IntegerField()))


def _counted(keys: Sequence[str], counts: Sequence[int | None]) -> dict[str, int]:
    return {key: count for key, count in zip(keys, counts, strict=True) if count}


def sums_of_rounds(
    rounds: QuerySet[Round], kept: Mapping[int, RoundFigures], *, columns: tuple[str, ...] = COLUMNS
) -> dict[int, TallySums]:
    """Add up everybody's tallies, for rounds that have any; `columns` at least are right.

    `kept` has the sums as they were when the figures were computed. Only the tallies of rounds in which somebody has
    submitted since are read.
    """
    tallies = Tally.objects.filter(round__in=rounds).order_by()
    sums: dict[int, TallySums] = {}
    changed = []
    for round, revision in tallies.values_list("round").annotate(revised=Sum("revision")):
        figures = kept.get(round)
        if figures and figures.revision == revision and SUMS in figures.figures:
            sums[round] = sums_from_json(figures.figures[SUMS])
        else:
            changed.append(round)
    if not changed:
        return sums
    of_everyone = defaultdict(list)
    for (round, _), one in tallies_of(Round.objects.filter(pk__in=changed), columns=columns):
        of_everyone[round].append(one)
    return sums | {round: total_sums(each) for round, each in of_everyone.items()}


def assigned_work(rounds: Iterable[Round], *, now: datetime) -> dict[Key, AssignedWork]:
    """Return the unfinished batches of `rounds`: open, and expired without being submitted. Both are few."""
    unfinished: dict[Key, AssignedWork] = defaultdict(AssignedWork)
    # By pool, and not joined with rounds: a database may make that join anew for each batch.
    round_of = {round.pool_id: round.pk for round in rounds}
    batches = Batch.objects.filter(pool__in=list(round_of)).order_by()
    open_ones = list(batches.filter(state=BatchState.OPEN).values_list("pk", "pool", "person", "deadline"))
    # In two steps: in one, a database may begin with all assignments.
    of_open = Assignment.objects.filter(state=AssignmentState.ASSIGNED, batch__in=[pk for pk, *_ in open_ones])
    images = dict(of_open.order_by().values_list("batch").annotate(Count("pk")))
    for pk, pool, person, deadline in open_ones:
        one = unfinished[round_of[pool], person]
        if deadline > now:
            one.batches += 1
            one.images += images.get(pk, 0)
        else:
            one.expired += 1
    late = Q(caption_batch__stage=Stage.SUBMITTED) | Q(verification_batch__submitted_at__isnull=False)
    expired = batches.filter(state=BatchState.EXPIRED).exclude(late)
    for pool, person, number in expired.values_list("pool", "person").annotate(number=Count("pk")):
        unfinished[round_of[pool], person].expired += number
    return unfinished


def to_correct(project: Project) -> Mapping[Key, int]:
    """Return the captions that wait for their authors to rewrite them."""
    # In two steps: in one, a database may begin with all captions. Those that wait are few.
    waiting = list(CorrectionRequest.objects.filter(answered_at=None).order_by().values_list("caption", flat=True))
    captions = Caption.objects.filter(pk__in=waiting, author__isnull=False).order_by()
    counts: Counter[Key] = Counter()
    for project_id, round, author in captions.values_list("round__project", "round", "author"):
        if project_id == project.pk and author is not None:
            counts[round, author] += 1
    return counts


def kept_figures(project: Project) -> dict[int, KeptFigures]:
    """Return what an overview shows, without reading the rest."""
    keys = ("figures__captions", f"figures__{QUALITY}", "figures__agreement")
    rows = RoundFigures.objects.filter(round__project=project).values_list("round", "tasks", "wanted", *keys)
    return {
        round: KeptFigures(tasks, wanted, captions or 0, quality or {}, _shared(agreement) if agreement else None)
        for round, tasks, wanted, captions, quality, agreement in rows
    }


def shared_with(project: Project) -> Iterator[tuple[Key, SharedRatings]]:
    """Yield the agreement of each person with the others, round by round."""
    kept = RoundFigures.objects.filter(round__project=project).values_list("round", "figures__agreement_of")
    for round, stored in kept:
        yield from (((round, int(person)), _shared(one)) for person, one in (stored or {}).items())


def computed_figures(project: Project) -> dict[int, RoundFigures]:
    return RoundFigures.objects.filter(round__project=project).in_bulk()


def shared_in(figures: RoundFigures | None) -> SharedRatings | None:
    """Return the agreement in a round, over everyone's ratings."""
    stored = figures.figures.get("agreement") if figures else None
    return _shared(stored) if stored else None


def shared_by(figures: RoundFigures | None, person_id: int) -> SharedRatings | None:
    """Return the agreement of one person with the others in a round."""
    stored = figures.figures.get("agreement_of", {}).get(str(person_id)) if figures else None
    return _shared(stored) if stored else None


def _shared(stored: Mapping[str, Any]) -> SharedRatings:
    return SharedRatings(stored["pairs"], stored["same"], stored["alpha"])
