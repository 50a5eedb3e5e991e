"""The close of a season, broken off in the middle, and while all else that locks players goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from random import Random

import pytest

from gapgame.models import UNFINISHED, Player, PlayerStatus, Season, Turn, TurnOutcome
from gapgame.selectors.percentiles import counts_of
from gapgame.services import playing
from gapgame.services.closing import GRACE, close_overdue, close_season
from gapgame.services.marking import check_players, decide
from tests.concurrency import together
from tests.factories import NOW, make_player, make_season

Act = Callable[[], object]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def begin(season: Season) -> Player:
    player = make_player(season)
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    turn = playing.open_turn(player_id=player.pk, user=player.user, now=NOW)
    assert turn is not None
    guess(turn, "dog", NOW + timedelta(seconds=2))
    return player


def guess(turn: Turn, word: str, now: datetime) -> None:
    user = turn.player.user
    playing.make_guess(turn_id=turn.pk, user=user, number=turn.attempts_made + 1, guess=word, now=now)


def test_a_close_that_is_broken_off_is_done_again_and_scores_each_turn_once(monkeypatch) -> None:
    season = make_season()
    players = [begin(season) for _ in range(3)]
    whole, calls = playing.finish, count(1)

    def dies_at_the_second(**about) -> None:
        whole(**about)
        if next(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("gapgame.services.closing.finish", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        close_season(season_id=season.pk, now=season.ends_at + GRACE)
    assert Turn.objects.filter(outcome=TurnOutcome.CUT_OFF).count() == 1
    assert Season.objects.get(pk=season.pk).closed_at is None

    close_season(season_id=season.pk, now=season.ends_at + GRACE)
    assert set(Player.objects.values_list("total", "turns")) == {(800_000, 1)}
    assert sorted(Player.objects.values_list("rank", flat=True)) == [1, 2, 3]
    assert counts_of(season.pk, 800_001) == (len(players), len(players))


DECISIONS = (PlayerStatus.PLAYING, PlayerStatus.CLEARED, PlayerStatus.SET_ASIDE)


def test_sweeps_that_overlap_with_play_and_decisions_neither_wait_for_each_other_nor_count_twice() -> None:
    season = make_season(items=12, batch_size=12)
    players = [begin(season) for _ in range(6)]
    over = season.ends_at + GRACE

    def play(player: Player, rng: Random) -> None:
        now = NOW + timedelta(minutes=1)
        for _ in range(40):
            now += timedelta(seconds=2)
            try:
                turn = playing.open_turn(player_id=player.pk, user=player.user, now=now)
                if turn is None:
                    return
                now += timedelta(seconds=2)
                guess(turn, rng.choice(["cat", "dog", "car", "sky"]), now)
            except playing.PlayError:
                continue

    def judge(rng: Random) -> None:
        for _ in range(20):
            decide(
                player_id=rng.choice(players).pk,
                season=season,
                status=rng.choice(DECISIONS),
                by=season.project.created_by,
                now=NOW,
            )

    def check() -> None:
        for _ in range(10):
            check_players(now=NOW)

    others: list[Act] = [partial(judge, Random(3)), partial(judge, Random(4)), check, check]
    plays: list[Act] = [partial(play, player, Random(seed)) for player in players for seed in (1, 2)]
    sweeps: list[Act] = [partial(close_overdue, now=over)] * 3
    together(_call, plays + others)
    together(_call, sweeps + others)
    assert Season.objects.get(pk=season.pk).closed_at == over

    for player in Player.objects.all():
        ended = player.all_turns.exclude(outcome__in=UNFINISHED)
        assert (player.total, player.turns) == (sum(ended.values_list("score", flat=True)), ended.count())
    totals = list(Player.objects.values_list("total", flat=True))
    for total in totals:
        assert counts_of(season.pk, total) == (sum(other < total for other in totals), len(totals))
    may_win = [each for each in Player.objects.all() if each.status == "cleared" or not each.is_marked]
    ranked = [each for each in may_win if each.status != "set_aside"]
    ranked.sort(key=lambda each: (-each.total, each.reached_at, each.joined_at, each.pk))
    assert [each.rank for each in ranked] == list(range(1, len(ranked) + 1))
    assert Player.objects.filter(rank__isnull=False).count() == len(ranked)


def _call(act: Act) -> object:
    return act()
