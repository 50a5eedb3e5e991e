"""What a new project begins with: how fast people work here, and the settings of the last project."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, Q, QuerySet, Sum

from annotation.models import Round, RoundKind, Tally
from annotation.rules.estimates import (
    ASSUMED_CAPTION_S,
    ASSUMED_RATING_S,
    SecondsPerAnswer,
    TimedAnswers,
    seconds_per_answer,
)
from core.people.models import Project, Role, User
from core.people.selectors.rates import rate_of


@dataclass(frozen=True)
class MeasuredTimes:
    """Timed answers by language tag; under the empty one those in all languages."""

    captions: Mapping[str, TimedAnswers]
    ratings: Mapping[str, TimedAnswers]

    def caption(self, tag: str) -> SecondsPerAnswer:
        return self._seconds(self.captions, tag, ASSUMED_CAPTION_S)

    def rating(self, tag: str) -> SecondsPerAnswer:
        return self._seconds(self.ratings, tag, ASSUMED_RATING_S)

    @staticmethod
    def _seconds(timed: Mapping[str, TimedAnswers], tag: str, assumed: float) -> SecondsPerAnswer:
        return seconds_per_answer(timed.get(tag, TimedAnswers()), timed.get("", TimedAnswers()), assumed=assumed)


def measured_times() -> MeasuredTimes:
    """Sum up the tallies of all projects: captions with the rating before them, and ratings in verification."""
    timed = Tally.objects.filter(rating_ms__gt=0, captions__gt=0).order_by()
    verification = Q(round__kind=RoundKind.VERIFICATION)
    return MeasuredTimes(captions=_timed(timed.exclude(verification)), ratings=_timed(timed.filter(verification)))


def _timed(tallies: QuerySet[Tally]) -> dict[str, TimedAnswers]:
    sums = {"answers": Sum("captions"), "active_ms": Sum(F("rating_ms") + F("writing_ms"))}
    by_language: dict[str, list[tuple[int, int]]] = defaultdict(list)
    of_all: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for tag, person, answers, active_ms in tallies.values_list("round__language", "person").annotate(**sums):
        by_language[tag].append((answers, active_ms))
        of_all[person] = (of_all[person][0] + answers, of_all[person][1] + active_ms)
    everything = {"": list(of_all.values()), **by_language}
    return {tag: TimedAnswers.of_people(times) for tag, times in everything.items()}


@dataclass(frozen=True, kw_only=True)
class SettingsUsed:
    """The settings with which the languages of a project began; `replications` by language tag."""

    project: Project
    replications: Mapping[str, int]
    batch_size: int
    lease_s: int
    pilot_images: int | None
    captioners: frozenset[int]
    rate: tuple[Decimal, str] | None

    @property
    def replication(self) -> int:
        """The number that most of its languages have."""
        return Counter(self.replications.values()).most_common(1)[0][0]

    @property
    def own_replications(self) -> dict[str, int]:
        return {tag: number for tag, number in self.replications.items() if number != self.replication}


def last_settings(manager: User) -> SettingsUsed | None:
    """Return the settings of the newest project of a manager that has people write captions."""
    managed = Project.objects.filter(memberships__user=manager, memberships__role=Role.MANAGER)
    newest = managed.filter(rounds__kind=RoundKind.MAIN, rounds__source="").order_by("-created_at", "-pk").first()
    return settings_used(newest) if newest else None


def settings_used(project: Project) -> SettingsUsed | None:
    """Return the settings of a project's languages; of those that differ, the ones of the language added last."""
    rounds = list(Round.objects.filter(project=project, source="").select_related("pool").order_by("pk"))
    mains = [round for round in rounds if round.kind == RoundKind.MAIN]
    pilots = [round for round in rounds if round.kind == RoundKind.PILOT]
    if not mains:
        return None
    newest = mains[-1]
    return SettingsUsed(
        project=project,
        replications={round.language_id: round.replication for round in mains},
        batch_size=newest.pool.batch_size,
        lease_s=newest.pool.lease_s,
        pilot_images=next((pilot.sample_size for pilot in reversed(pilots) if pilot.sample_size), None),
        captioners=frozenset(newest.captioners.values_list("pk", flat=True)),
        rate=rate_of(project),
    )
