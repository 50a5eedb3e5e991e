"""The players of a season as managers see them: who is marked, and why. Totals only once the season is closed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, TextChoices
from django.utils.translation import gettext_lazy as _

from gapgame.models import Mark, Player, PlayerStatus, Season
from gapgame.rules.play import MICRO
from gapgame.rules.scripted import TurnScriptRule

PER_PAGE = 50


class PlayersShown(TextChoices):
    ALL = "all", _("All")
    MARKED = "marked", _("Marked")
    UNDECIDED = "undecided", _("Needs decision")
    SET_ASIDE = "set-aside", _("Set aside")


@dataclass(frozen=True)
class RuleBroken:
    """`detail`: the evidence about play as a whole; `turns`: single turns that are marked by this rule."""

    label: str
    detail: str
    turns: int


@dataclass(frozen=True)
class PlayerRow:
    """`points` and `turns` are None until the season is closed."""

    player: Player
    rules: Sequence[RuleBroken]
    points: float | None
    turns: int | None

    @property
    def is_undecided(self) -> bool:
        return self.player.is_marked and self.player.status == PlayerStatus.PLAYING


def players_page(season: Season, show: PlayersShown, *, number: str) -> tuple[Page[Player], list[PlayerRow]]:
    """Return one page: by joining time while the season is open, afterwards by rank."""
    # While the season is open, nobody's score is even read.
    matching = Player.objects.filter(season=season).select_related("user")
    if season.closed_at is None:
        matching = matching.defer("total", "turns", "streak", "best_streak", "reached_at", "rank")
    order = ["joined_at", "pk"] if season.closed_at is None else [F("rank").asc(nulls_last=True), "joined_at", "pk"]
    chosen = {
        PlayersShown.ALL: matching,
        PlayersShown.MARKED: matching.filter(is_marked=True),
        PlayersShown.UNDECIDED: matching.filter(is_marked=True, status=PlayerStatus.PLAYING),
        PlayersShown.SET_ASIDE: matching.filter(status=PlayerStatus.SET_ASIDE),
    }[show]
    page = Paginator(chosen.order_by(*order), PER_PAGE).get_page(number)
    players = list(page.object_list)
    rules = _rules_of(players)
    return page, [_row(season, player, rules.get(player.pk, [])) for player in players]


def _row(season: Season, player: Player, rules: Sequence[RuleBroken]) -> PlayerRow:
    if season.closed_at is None:
        return PlayerRow(player, rules, points=None, turns=None)
    return PlayerRow(player, rules, points=player.total / MICRO, turns=player.turns)


def _rules_of(players: Sequence[Player]) -> dict[int, list[RuleBroken]]:
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
        rules[player].append(RuleBroken(label, details.get((player, rule), ""), of_turns[player, rule]))
    return rules
