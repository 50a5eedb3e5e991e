"""Every step of the game takes its locks in the one order, so that no two wait in a circle; see docs/decisions/0039."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import connection

from core.people import personal_data
from core.people.models import User
from core.people.services import accounts
from core.people.services.accounts import delete_account
from core.people.services.consent import withdraw_consent
from gapgame import permissions
from gapgame.models import GameBatch, PlayerStatus, SkipReason
from gapgame.services import closing, marking, playing, seasons
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
        return partial(marking.decide, player_id=self.player.pk, season=close(self.season), **about)

    def guess(self) -> Callable[[], Any]:
        about: dict[str, Any] = {"number": 1, "guess": "cat", "now": NOW + timedelta(minutes=1)}
        return partial(playing.make_guess, turn_id=self.turn.pk, user=self.user, **about)


STEPS: dict[str, Callable[[Played], Callable[[], Any]]] = {
    "take": Played.take_another,
    "guess": Played.guess,
    "skip": lambda p: partial(
        playing.skip, turn_id=p.turn.pk, user=p.user, reason=SkipReason.BROKEN, now=NOW + timedelta(minutes=1)
    ),
    "close": lambda p: partial(
        closing.close_season, season_id=p.season.pk, now=p.season.ends_at + timedelta(minutes=1)
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
