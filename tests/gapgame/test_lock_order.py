"""Every step takes its locks in the one order (docs/decisions/0039), also while a season closes or was broken off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest
from django.db import connection

from core.conversation.rules import ReportReason
from core.conversation.services import report_image
from core.people import personal_data
from core.people.models import User
from core.people.services import accounts
from core.people.services.accounts import delete_account
from core.people.services.consent import withdraw_consent
from gapgame import permissions
from gapgame.models import UNFINISHED, GameBatch, Player, PlayerStatus, Season, SkipReason, Turn, TurnOutcome
from gapgame.selectors.play import counts_of
from gapgame.services import playing, ranking, seasons
from gapgame.services.playing import GRACE, close_overdue, close_season
from gapgame.services.ranking import check_players, decide
from tests.concurrency import together
from tests.factories import NOW, make_player, make_season
from tests.gapgame.seasons import close, texts_of
from tests.locks import check_order

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Played:
    """A season with somebody who is playing."""

    def __init__(self) -> None:
        self.season = make_season(items=4, batch_size=1)
        self.project, self.by = self.season.project, self.season.project.created_by
        self.player = make_player(self.season)
        self.user = self.player.user
        self.take()()
        turn = playing.open_turn(player_id=self.player.pk, user=self.user, now=NOW)
        assert turn is not None
        self.turn = turn

    def take(self) -> Callable[[], GameBatch]:
        about: dict[str, Any] = {"language": "en", "now": NOW, "rng": Random(1)}
        return partial(playing.take_batch, player_id=self.player.pk, user=self.user, **about)

    def take_another(self) -> Callable[[], GameBatch]:
        playing.skip(turn_id=self.turn.pk, user=self.user, reason=SkipReason.BROKEN, now=NOW)
        return self.take()

    def withdraw(self) -> Callable[[], Any]:
        close(self.season)
        return partial(withdraw_consent, project=self.project, user=self.user, keeps_answers=False, now=NOW)

    def decide(self) -> Callable[[], Any]:
        about: dict[str, Any] = {"status": PlayerStatus.SET_ASIDE, "by": self.by, "now": NOW}
        return partial(ranking.decide, player_id=self.player.pk, season=close(self.season), **about)

    def guess(self) -> Callable[[], Any]:
        about: dict[str, Any] = {"number": 1, "guess": "cat", "now": NOW + timedelta(minutes=1)}
        return partial(playing.make_guess, turn_id=self.turn.pk, user=self.user, **about)

    def report(self) -> Callable[[], Any]:
        Turn.objects.filter(pk=self.turn.pk).update(attempts_made=1)
        about: dict[str, Any] = {"reason": ReportReason.BROKEN, "comment": "Grey.", "now": NOW + timedelta(minutes=1)}
        return partial(report_image, kind="turns", batch_id=self.turn.pk, position=1, person=self.user, **about)


STEPS: dict[str, Callable[[Played], Callable[[], Any]]] = {
    "take": Played.take_another,
    "guess": Played.guess,
    "skip": lambda p: partial(
        playing.skip,
        turn_id=p.turn.pk,
        user=p.user,
        reason=SkipReason.BROKEN,
        note="No verb.",
        now=NOW + timedelta(minutes=1),
    ),
    "report": Played.report,
    "close": lambda p: partial(
        playing.close_season, season_id=p.season.pk, now=p.season.ends_at + timedelta(minutes=1)
    ),
    "decide": Played.decide,
    "change": lambda p: partial(
        seasons.change_season, season=p.season, texts=texts_of("Autumn"), terms=None, by=p.by, now=NOW
    ),
    "withdraw": Played.withdraw,
    "delete the account": lambda p: partial(delete_account, user=p.user, now=NOW),
}


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("step", STEPS)
def test_locks_are_taken_in_one_order(step: str):
    check_order(STEPS[step](Played()))


def test_an_account_is_deleted_in_the_moment_in_which_its_player_takes_sentences(monkeypatch: pytest.MonkeyPatch):
    made = Played()
    take = made.take_another()
    is_taking, is_deleting = threading.Event(), threading.Event()
    may_play, forget = permissions.may_play, personal_data.forget

    def slowly(*about: Any) -> bool:
        is_taking.set()
        is_deleting.wait(0.5)
        return may_play(*about)

    def late(**about: Any) -> None:
        is_deleting.set()
        is_taking.wait(0.5)
        forget(**about)

    monkeypatch.setattr(playing, "may_play", slowly)
    monkeypatch.setattr(personal_data, "forget", late)

    def take_or_be_refused() -> None:
        try:
            take()
        except playing.NotPlayingError:
            assert User.objects.get(pk=made.user.pk).deleted_at is not None

    together(lambda step: step(), [take_or_be_refused, STEPS["delete the account"](made)])
    assert User.objects.get(pk=made.user.pk).deleted_at == NOW


def test_an_account_is_deleted_in_the_moment_in_which_a_manager_decides_on_its_player(monkeypatch: pytest.MonkeyPatch):
    made = Played()
    decide = made.decide()
    is_deleting = threading.Event()
    remove = accounts._remove_what_names

    def late(*about: Any) -> None:
        is_deleting.set()
        time.sleep(0.3)
        remove(*about)

    def decide_meanwhile() -> None:
        is_deleting.wait(5)
        decide()

    monkeypatch.setattr(accounts, "_remove_what_names", late)
    together(lambda step: step(), [decide_meanwhile, STEPS["delete the account"](made)])
    assert User.objects.get(pk=made.user.pk).deleted_at == NOW


Act = Callable[[], object]


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

    monkeypatch.setattr("gapgame.services.playing.finish", dies_at_the_second)
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
