"""The progress of seasons, for their managers: players, turns, skips, marks. No scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet
from django.utils.functional import cached_property

from core.people.models import Project
from gapgame.models import GameBatch, Player, PlayerStatus, Season, SeasonLanguage, Turn, TurnOutcome
from gapgame.selectors.public import SeasonState, state_of

ACTIVE = timedelta(minutes=5)
"""A player who was shown a sentence or a hint within that time is playing now."""

POLL_S, LARGE_POLL_S, LARGE = 10, 60, 200_000

ENDED = (
    TurnOutcome.ATTEMPT_1,
    TurnOutcome.ATTEMPT_2,
    TurnOutcome.ATTEMPT_3,
    TurnOutcome.FAILED,
    TurnOutcome.SKIPPED,
    TurnOutcome.CUT_OFF,
)


@dataclass(frozen=True)
class LanguageProgress:
    played: SeasonLanguage
    counts: Counter[str]

    @property
    def outcomes(self) -> list[int]:
        """In the order of ENDED."""
        return [self.counts[outcome] for outcome in ENDED]

    @property
    def ended(self) -> int:
        return sum(self.outcomes)


@dataclass(frozen=True)
class SeasonProgress:
    """`undecided`: players whose play looks scripted, and about whom nobody has decided."""

    season: Season
    state: SeasonState
    now: datetime
    players: int
    active: int
    batches: int
    marked: int
    undecided: int
    set_aside: int
    languages: Sequence[LanguageProgress]

    @cached_property
    def counts(self) -> Counter[str]:
        return sum((row.counts for row in self.languages), Counter())

    @property
    def outcomes(self) -> list[tuple[str, int]]:
        return [(str(outcome.label), self.counts[outcome]) for outcome in ENDED]

    @property
    def ended(self) -> int:
        return sum(self.counts[outcome] for outcome in ENDED)

    @property
    def played(self) -> list[SeasonLanguage]:
        return [row.played for row in self.languages]

    @property
    def poll_s(self) -> int:
        """Return how soon the page refreshes: a large season costs more to count and changes less."""
        return POLL_S if self.ended < LARGE else LARGE_POLL_S

    @property
    def percent_over(self) -> int:
        """The share of the time from start to cut-off that has passed."""
        over = (self.now - self.season.starts_at) / (self.season.ends_at - self.season.starts_at)
        return int(100 * min(1.0, max(0.0, over)))


def seasons_of(project: Project) -> QuerySet[Season]:
    """List seasons with their languages, and how many players `joined`."""
    seasons = Season.objects.filter(project=project).select_related("item_set").annotate(joined=Count("players"))
    return seasons.prefetch_related("languages__language")


def progress_of(season: Season, now: datetime) -> SeasonProgress:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    turns = Turn.objects.filter(player__season=season).order_by()
    for language, outcome, number in turns.values_list("batch__language", "outcome").annotate(Count("pk")):
        counts[language][outcome] = number
    people = Player.objects.filter(season=season).aggregate(
        players=Count("pk"),
        marked=Count("pk", filter=Q(is_marked=True)),
        undecided=Count("pk", filter=Q(is_marked=True, status=PlayerStatus.PLAYING)),
        set_aside=Count("pk", filter=Q(status=PlayerStatus.SET_ASIDE)),
    )
    played = season.languages.select_related("language", "vectors")
    return SeasonProgress(
        season=season,
        state=state_of(season, now),
        now=now,
        active=turns.filter(shown_at__gt=now - ACTIVE, shown_at__lte=now).values("player").distinct().count(),
        batches=GameBatch.objects.filter(player__season=season).count(),
        **people,
        languages=[LanguageProgress(row, counts[row.language_id]) for row in played],
    )
