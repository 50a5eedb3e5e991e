"""Above how many percent of the players one is: exact and live; ranks at the end, and who is on the leaderboard."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from django.contrib.auth.models import AnonymousUser

from core.people.models import User
from gapgame.models import Player, PlayerStatus, ScoreCount
from gapgame.rules.play import LEVELS, percent_below
from gapgame.selectors import play as selectors
from gapgame.selectors.public import leaderboard_page, winners_of
from gapgame.services.ranking import add_to_total, decide
from tests.factories import MINUTE, NOW, make_player, make_season
from tests.gapgame.seasons import close
from tests.kept import kept
from tests.tiers import runs

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def make_players(season, totals: list[int]) -> list[Player]:
    """Players with these totals, and the counts that belong to them, in a few statements."""
    first = User.objects.count()
    users = User.objects.bulk_create(User(username=f"p{first + number}") for number in range(len(totals)))
    players = Player.objects.bulk_create(
        Player(season=season, user=user, nickname=user.username, joined_at=NOW, total=total, turns=50, reached_at=NOW)
        for user, total in zip(users, totals, strict=True)
    )
    for level in LEVELS:
        ScoreCount.objects.bulk_create(
            ScoreCount(season=season, level=level, stretch=stretch, players=count)
            for stretch, count in Counter(total >> level for total in totals).items()
        )
    return players


@pytest.mark.parametrize(
    ("lower", "players", "percent"), [(0, 0, 0), (0, 1, 0), (1, 2, 50), (2, 3, 66), (999, 1000, 99)]
)
def test_the_percentage_is_rounded_down_so_that_nobody_is_above_all(lower, players, percent):
    assert percent_below(lower, players) == percent


@pytest.mark.parametrize("seed", runs(3, short=1))
def test_players_with_less_are_counted_exactly_wherever_the_total_lies(seed):
    rng = Random(seed)
    spread = [rng.randrange(40_000_000) for _ in range(300)]
    same_stretch = [5_000_000 + rng.randrange(3000) for _ in range(100)]
    alike = [5_000_500] * 60 + [0] * 20
    totals = spread + same_stretch + alike
    season = make_season(items=0)
    make_players(season, totals)
    for total in [*rng.sample(totals, 40), 0, 1, 5_000_499, 5_000_500, 5_000_501, 50_000_000]:
        assert selectors.counts_of(season.pk, total) == (sum(other < total for other in totals), len(totals))


def test_many_equal_totals_on_either_side_are_counted_as_well(monkeypatch):
    monkeypatch.setattr(selectors, "GLANCE", 5)
    season = make_season(items=0)
    totals = [1000] * 9 + [1010] * 2 + [1020] * 9
    make_players(season, totals)
    for total in (999, 1000, 1001, 1010, 1015, 1020, 1021):
        assert selectors.counts_of(season.pk, total) == (sum(other < total for other in totals), len(totals))


def test_the_counts_follow_every_scored_turn_and_other_seasons_have_their_own():
    season, elsewhere = make_season(items=0), make_season(items=0)
    rng = Random(5)
    players = [make_player(season) for _ in range(6)]
    stranger = make_player(elsewhere)
    add_to_total(player=stranger, score=10, is_found=False, reached_at=NOW)
    for step in range(60):
        player = rng.choice(players)
        add_to_total(
            player=player, score=rng.choice([0, 1, 250_000, 1_000_000]), is_found=False, reached_at=NOW + step * MINUTE
        )
        totals = [other.total for other in players if other.turns]
        assert selectors.counts_of(season.pk, player.total) == (
            sum(total < player.total for total in totals),
            len(totals),
        )
    assert selectors.counts_of(elsewhere.pk, stranger.total) == (0, 1)


def test_percentage_total_and_streak_follow_the_scored_turns():
    player = make_player(make_season(items=0))
    assert selectors.percent_of(player) is None
    add_to_total(player=player, score=0, is_found=False, reached_at=NOW)
    assert selectors.percent_of(player) == 0
    for minute, score in enumerate((500, 300, 0)):
        add_to_total(player=player, score=score, is_found=False, reached_at=NOW + minute * MINUTE)
    player.refresh_from_db()
    assert (player.total, player.reached_at) == (800, NOW + MINUTE)
    for is_found in (True, True, False, True):
        add_to_total(player=player, score=1, is_found=is_found, reached_at=NOW)
    player.refresh_from_db()
    assert (player.streak, player.best_streak) == (1, 2)


@kept
def season():
    """Five players; two have the same total, which the second of them reached earlier."""
    season = make_season(items=0, ends_at=NOW + timedelta(hours=1))
    for name, score, minute in (("ann", 500, 1), ("bob", 900, 9), ("cem", 900, 3), ("dia", 100, 1), ("eve", 0, 0)):
        add_to_total(
            player=make_player(season, name, nickname=name),
            score=score,
            is_found=True,
            reached_at=NOW + minute * MINUTE,
        )
    make_player(season, "idle", nickname="idle")
    return season


def ranks() -> dict[str, int]:
    return dict(Player.objects.filter(rank__isnull=False).order_by("rank").values_list("nickname", "rank"))


def test_nobody_is_declared_before_the_end_and_of_equal_totals_the_earlier_comes_first(season):
    assert winners_of(season) == []
    assert ranks() == {}
    season = close(season)
    assert list(ranks()) == ["cem", "bob", "ann", "dia", "eve"]
    assert [(row.nickname, row.rank) for row in winners_of(season)] == [("cem", 1), ("bob", 2)]


def test_who_is_marked_has_no_rank_until_a_manager_clears_them(season):
    cem = Player.objects.get(nickname="cem")
    Player.objects.filter(pk=cem.pk).update(is_marked=True)
    season = close(season)
    assert list(ranks()) == ["bob", "ann", "dia", "eve"]
    assert leaderboard_page(season, AnonymousUser(), None)["set_aside"] == 1
    decide(player_id=cem.pk, season=season, status=PlayerStatus.CLEARED, by=season.project.created_by, now=NOW)
    assert ranks() == {"cem": 1, "bob": 2, "ann": 3, "dia": 4, "eve": 5}
    decide(player_id=cem.pk, season=season, status=PlayerStatus.SET_ASIDE, by=season.project.created_by, now=NOW)
    assert ranks() == {"bob": 1, "ann": 2, "dia": 3, "eve": 4}
    assert leaderboard_page(season, AnonymousUser(), None)["set_aside"] == 1


def test_a_manager_cannot_decide_about_a_player_of_another_season(season):
    with pytest.raises(Player.DoesNotExist):
        decide(
            player_id=make_player(make_season()).pk,
            season=season,
            status=PlayerStatus.SET_ASIDE,
            by=season.project.created_by,
            now=NOW,
        )


def test_who_opted_out_is_not_named_on_the_leaderboard_but_sees_their_own_row(season):
    Player.objects.filter(nickname__in=["cem", "ann"]).update(is_on_leaderboard=False)
    season = close(season)
    page = leaderboard_page(season, AnonymousUser(), None)
    assert [(row.rank, row.nickname) for row in page["rows"]] == [(2, "bob"), (4, "dia"), (5, "eve")]
    assert [(row.rank, row.nickname) for row in winners_of(season)] == [(1, ""), (2, "bob")]
    ann = Player.objects.get(nickname="ann")
    mine = leaderboard_page(season, ann.user, None)["me"]
    assert (mine.rank, mine.nickname, mine.is_me) == (3, "ann", True)


@pytest.mark.parametrize("asked", [None, "", "0", "-1", "x", "1", "7", "99999999999999999999"])
def test_any_page_of_the_leaderboard_may_be_asked_for(season, asked):
    page = leaderboard_page(close(season), AnonymousUser(), asked)
    assert (page["number"], page["pages"], page["ranked"]) == (1, 1, 5)


def test_pages_of_the_leaderboard_are_stretches_of_ranks():
    season = make_season(items=0, ends_at=NOW + timedelta(hours=1))
    make_players(season, [place * 10_000 for place in range(100, 220)])
    page = leaderboard_page(close(season), AnonymousUser(), "3")
    assert (page["first"], page["last"], page["pages"]) == (101, 120, 3)
    assert [row.rank for row in page["rows"]] == list(range(101, 121))
    assert page["rows"][0].points == 119
