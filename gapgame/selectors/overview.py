"""Seasons for their managers: progress, players with marks, skipped sentences. No scores before the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Q, QuerySet, TextChoices
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from core.people.models import Project
from gapgame.models import (
    GameBatch,
    GapItem,
    Mark,
    Player,
    PlayerStatus,
    Season,
    SeasonLanguage,
    SkipReason,
    Turn,
    TurnOutcome,
)
from gapgame.rules.play import MICRO, TurnScriptRule
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
PLAYERS_PER_PAGE = 50
SENTENCES_PER_PAGE = 25
MAX_NOTES = 10
REPORTED = "reported"
"""Stands for the reason of turns that were skipped by reporting an image: the inbox has what is wrong with it."""
Counts = list[tuple[str, int]]
Notes = list[tuple[str, str]]


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


class PlayersShown(TextChoices):
    ALL = "all", _("All")
    MARKED = "marked", _("Marked")
    UNDECIDED = "undecided", _("Needs decision")
    SET_ASIDE = "set-aside", _("Set aside")


@dataclass(frozen=True)
class PlayerRow:
    """`points` and `turns` are None until the season is closed. `rules`: what play breaks.

    Each has a `label`, a `detail`: the evidence about play as a whole, and the number of `turns` that are marked by it.
    """

    player: Player
    rules: Sequence[dict[str, Any]]
    points: float | None
    turns: int | None

    @property
    def is_undecided(self) -> bool:
        return self.player.is_marked and self.player.status == PlayerStatus.PLAYING


def players_page(season: Season, show: PlayersShown, *, number: str) -> tuple[Page[Player], list[PlayerRow]]:
    """Return one page: by joining time while the season is open, afterwards by rank."""
    order = ["joined_at", "pk"] if season.closed_at is None else [F("rank").asc(nulls_last=True), "joined_at", "pk"]
    page = Paginator(players_of(season, show).order_by(*order), PLAYERS_PER_PAGE).get_page(number)
    return page, player_rows(season, list(page.object_list))


def players_of(season: Season, show: PlayersShown = PlayersShown.ALL) -> QuerySet[Player]:
    """List players; while the season is open, nobody's score is even read."""
    players = Player.objects.filter(season=season).select_related("user")
    if season.closed_at is None:
        players = players.defer("total", "turns", "streak", "best_streak", "reached_at", "rank")
    return {
        PlayersShown.ALL: players,
        PlayersShown.MARKED: players.filter(is_marked=True),
        PlayersShown.UNDECIDED: players.filter(is_marked=True, status=PlayerStatus.PLAYING),
        PlayersShown.SET_ASIDE: players.filter(status=PlayerStatus.SET_ASIDE),
    }[show]


def player_rows(season: Season, players: Sequence[Player]) -> list[PlayerRow]:
    rules = _rules_of(players)
    return [_row(season, player, rules.get(player.pk, [])) for player in players]


def _row(season: Season, player: Player, rules: Sequence[dict[str, Any]]) -> PlayerRow:
    if season.closed_at is None:
        return PlayerRow(player, rules, points=None, turns=None)
    return PlayerRow(player, rules, points=player.total / MICRO, turns=player.turns)


def _rules_of(players: Sequence[Player]) -> dict[int, list[dict[str, Any]]]:
    marks = Mark.objects.filter(player__in=players).order_by()
    of_play = marks.filter(turn=None).values_list("player", "rule", "detail")
    details = {(player, rule): detail for player, rule, detail in of_play}
    of_turns = Counter[tuple[int, str]]()
    single = marks.exclude(turn=None).values_list("player", "rule").annotate(Count("pk"))
    for player, rule, turns in single:
        of_turns[player, rule] = turns
    rules = defaultdict(list)
    for player, rule in sorted(details.keys() | of_turns.keys()):
        label = str(TurnScriptRule(rule).label) if rule in TurnScriptRule.values else rule
        detail, turns = details.get((player, rule), ""), of_turns[player, rule]
        rules[player].append({"label": label, "detail": detail, "turns": turns})
    return rules


def skips_page(season: Season, *, number: str) -> tuple[Page[GapItem], list[tuple[GapItem, Counts, Notes]]]:
    """List sentences with reasons and the newest notes, those skipped most often first, those switched off last."""
    page = Paginator(skipped_items(season), SENTENCES_PER_PAGE).get_page(number)
    items, labels = list(page.object_list), {**dict(SkipReason.choices), REPORTED: _("Reported")}
    reasons, notes = skip_reasons(season, items), _notes(season, items)
    named = {
        item: [(str(labels.get(reason, reason)), number) for reason, number in counts.most_common()]
        for item, counts in reasons.items()
    }
    return page, [(item, named.get(item.pk, []), notes.get(item.pk, [])) for item in items]


def skipped_items(season: Season) -> QuerySet[GapItem]:
    """List sentences that players skipped, with `skips` and how often they were `seen`; the most skipped first."""
    skips = Q(turns__outcome=TurnOutcome.SKIPPED, turns__player__season=season)
    seen = Q(turns__opened_at__isnull=False, turns__player__season=season)
    return (
        GapItem.objects.filter(pk__in=_skipped(season).values("item"))
        .select_related("language")
        .annotate(skips=Count("turns", filter=skips), seen=Count("turns", filter=seen))
        .order_by("-is_used", "-skips", "pk")
    )


def _skipped(season: Season) -> QuerySet[Turn]:
    return Turn.objects.filter(outcome=TurnOutcome.SKIPPED, player__season=season).order_by()


def skip_reasons(season: Season, items: Sequence[GapItem]) -> Mapping[int, Counter[str]]:
    """Count the reasons for skipping each of `items`."""
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    rows = _skipped(season).filter(item__in=items).values_list("item", "skip_reason").annotate(Count("pk"))
    for item, reason, number in rows:
        counted[item][reason or REPORTED] = number
    return counted


def _notes(season: Season, items: Sequence[GapItem]) -> Mapping[int, Notes]:
    """Return notes with their reasons, without names."""
    notes: dict[int, Notes] = defaultdict(list)
    labels = dict(SkipReason.choices)
    written = _skipped(season).filter(item__in=items).exclude(skip_note="").order_by("-finished_at", "pk")
    for item, reason, note in written.values_list("item", "skip_reason", "skip_note"):
        if len(notes[item]) < MAX_NOTES:
            notes[item].append((note, str(labels.get(reason, reason))))
    return notes
