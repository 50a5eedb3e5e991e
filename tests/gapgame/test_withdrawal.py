"""What becomes of turns when consent is withdrawn or an account deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser

from core.people import personal_data
from core.people.services.consent import withdraw_consent
from gapgame.models import GapItem, Player, PlayerStatus, Season, Turn
from gapgame.selectors.public import leaderboard_page
from gapgame.selectors.report import turns_of
from gapgame.selectors.turns import turn_records
from gapgame.services.players import join_season
from gapgame.services.ranking import decide
from tests.factories import NOW, make_player, make_season
from tests.gapgame.seasons import close, play
from tests.kept import kept

LATER = NOW + timedelta(days=2)


@kept
def season() -> Season:
    season = make_season(items=1)
    item = GapItem.objects.get(item_set=season.item_set)
    for name in ("ann", "bob"):
        play(make_player(season, name, nickname=name), item=item, guesses=("cat",))
    return season


def ann() -> Player:
    return Player.objects.select_related("user", "season__project").get(user__username="ann")


def withdraw(*, keeps: bool) -> int:
    done = withdraw_consent(project=ann().season.project, user=ann().user, keeps_answers=keeps, now=LATER)
    assert done is not None
    return done.removed


def named(season: Season) -> list[tuple[int, str]]:
    return [(row.rank, row.nickname) for row in leaderboard_page(season, AnonymousUser(), None)["rows"]]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_turns_that_are_kept_stay_on_the_leaderboard(season: Season):
    season = close(season)
    assert withdraw(keeps=True) == 0
    assert named(season) == [(1, "ann"), (2, "bob")]


def test_turns_that_are_removed_stay_stored_but_are_in_no_figure_and_no_manager_brings_them_back(season: Season):
    season = close(season)
    assert withdraw(keeps=False) == 1
    assert named(season) == [(1, "bob")]
    assert Turn.objects.filter(player=ann()).count() == 1
    assert len(list(turn_records(season))) == len(turns_of(season)) == 1
    assert leaderboard_page(season, AnonymousUser(), None)["set_aside"] == 0
    decide(player_id=ann().pk, season=season, status=PlayerStatus.CLEARED, by=season.project.created_by, now=NOW)
    assert ann().status == PlayerStatus.WITHDRAWN
    assert named(season) == [(1, "bob")]


def test_who_withdrew_during_the_season_has_no_rank_when_it_closes(season: Season):
    withdraw(keeps=False)
    assert named(close(season)) == [(1, "bob")]


def test_the_nickname_of_a_deleted_account_is_free_and_the_rank_stays_without_a_name(season: Season):
    personal_data.forget(person=ann().user, now=NOW)
    assert ann().nickname.startswith("deleted-")
    newcomer = make_player(make_season(project=season.project, item_set=season.item_set), "eve").user
    assert join_season(season=season, user=newcomer, nickname="Ann", is_on_leaderboard=True, now=NOW).nickname == "Ann"
    assert named(close(season)) == [(2, "bob")]
