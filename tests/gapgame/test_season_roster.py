"""Pages about who plays and what is skipped; none tells a score of a player before the close."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gapgame.models import GapItem, Mark, Player, PlayerStatus, SkipReason
from gapgame.rules.play import TurnScriptRule
from gapgame.services import playing
from gapgame.services.playing import GRACE
from tests.api.seeded import Program
from tests.clients import client_of
from tests.factories import NOW, make_player, make_season
from tests.gapgame.seasons import close, make_researcher, play, set_clock, text_of, url_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
PAGES_WHILE_ON = ("season-manage", "season-progress", "season-edit", "skip-list", "player-list", "game-report")


@pytest.fixture
def scored(season) -> list[Player]:
    """Players with totals that stand on no page by chance: 0.9, 0.64 and 0.48."""
    item = season.item_set.items.first()
    for guesses in (("dog", "cat"), ("tree", "sky", "dog"), ("sky", "tree", "car")):
        play(make_player(season), item=item, guesses=guesses)
    players = list(Player.objects.filter(season=season).order_by("pk"))
    assert [player.total for player in players] == [900_000, 640_000, 480_000]
    return players


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("state", ["on", "counting"])
def test_no_page_tells_a_score_of_a_player_before_the_close(season, scored, manager, monkeypatch, state) -> None:
    set_clock(monkeypatch, NOW if state == "on" else season.ends_at)
    for name in PAGES_WHILE_ON:
        queries = ("", "?by=player", "?show=marked", "?show=all&page=1") if name != "season-edit" else ("",)
        for query in queries:
            page = text_of(manager.get(url_of(name, season) + query))
            for player in scored:
                assert f"{player.total / 1_000_000:.3f}" not in page
                assert str(player.total) not in page
            if name != "player-list":
                assert not any(player.nickname in page or player.user.username in page for player in scored)


def test_the_list_of_players_has_totals_and_ranks_only_once_closed(season, scored, manager, monkeypatch) -> None:
    page = manager.get(url_of("player-list", season))
    assert all(row.points is None and row.turns is None for row in page.context["rows"])
    assert "Rank" not in text_of(page)
    order = [row.player for row in page.context["rows"]]
    assert order == sorted(scored, key=lambda player: (player.joined_at, player.pk))
    set_clock(monkeypatch, season.ends_at + GRACE)
    close(season)
    page = manager.get(url_of("player-list", season))
    assert [row.points for row in page.context["rows"]] == [0.9, 0.64, 0.48]
    assert "0.640" in text_of(page)


def test_marks_are_shown_with_what_was_found_and_can_be_decided(season, manager) -> None:
    player = make_player(season, "robot")
    turn = play(player, item=season.item_set.items.first(), guesses=("cat",))
    Mark.objects.create(player=player, rule=TurnScriptRule.STEADY, detail="30: 1.00 s", made_at=NOW)
    Mark.objects.create(player=player, turn=turn, rule=TurnScriptRule.FAST, detail="0.30 s", made_at=NOW)
    Player.objects.filter(pk=player.pk).update(is_marked=True)
    make_player(season, "human")
    page = manager.get(url_of("player-list", season) + "?show=undecided")
    said = text_of(page)
    assert "30: 1.00 s" in said
    assert "1 turn marked" in said
    assert "robot" in said
    assert "human" not in said
    assert "1 player is marked" in text_of(manager.get(url_of("season-manage", season)))
    manager.post(url_of("player-decide", season, player.pk), {"status": "cleared"})
    player.refresh_from_db()
    assert player.status == PlayerStatus.CLEARED
    assert manager.get(url_of("player-list", season) + "?show=undecided").context["rows"] == []
    manager.post(url_of("player-decide", season, player.pk), {"status": "set_aside"})
    player.refresh_from_db()
    assert player.status == PlayerStatus.SET_ASIDE
    assert Mark.objects.filter(player=player).count() == 2


def test_a_decision_that_is_none_or_about_a_player_of_another_season_changes_nothing(season, manager, project) -> None:
    player = make_player(season)
    manager.post(url_of("player-decide", season, player.pk), {"status": "winner"})
    player.refresh_from_db()
    assert player.status == PlayerStatus.PLAYING
    other = make_player(make_season(project=project))
    response = manager.post(url_of("player-decide", season, other.pk), {"status": "set_aside"})
    assert response.status_code == 404


def test_a_decision_after_the_close_gives_ranks_anew(season, scored, manager, monkeypatch) -> None:
    set_clock(monkeypatch, season.ends_at + GRACE)
    close(season)
    manager.post(url_of("player-decide", season, scored[0].pk), {"status": "set_aside"})
    ranks = dict(Player.objects.filter(season=season).values_list("pk", "rank"))
    assert [ranks[player.pk] for player in scored] == [None, 1, 2]


def test_skipped_sentences_stand_with_reasons_and_notes_the_most_skipped_first(season, manager) -> None:
    bad, odd = season.item_set.items.all()[:2]
    for number in range(3):
        player = make_player(season)
        turn = play(player, item=bad)
        note = "Rude!" if number == 0 else ""
        playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.OFFENSIVE, note=note, now=NOW)
    turn = play(player, item=odd)
    playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.BROKEN, now=NOW)
    other_season = make_season(project=season.project, item_set=season.item_set, items=0, batch_size=10)
    elsewhere = make_player(other_season)
    turn = play(elsewhere, item=odd)
    playing.skip(turn_id=turn.pk, user=elsewhere.user, reason=SkipReason.OTHER, now=NOW)
    page = manager.get(url_of("skip-list", season))
    rows = page.context["rows"]
    assert [(item, item.skips, item.seen) for item, _reasons, _notes in rows] == [(bad, 3, 3), (odd, 1, 1)]
    assert [note for note, _reason in rows[0][2]] == ["Rude!"]
    assert [number for _reason, number in rows[1][1]] == [1]
    where = reverse("api:skipped-list", args=[season.project.slug, season.slug])
    told = Program(season.project.created_by).all_of(where, limit=1)
    assert {row["id"]: (row["skips"], row["seen"], row["reasons"]) for row in told} == {
        bad.pk: (3, 3, {"offensive": 3}),
        odd.pk: (1, 1, {"broken": 1}),
    }
    assert bad.word not in str(told)
    nicknames = Player.objects.filter(season=season).values_list("nickname", flat=True)
    assert not any(nickname in text_of(page) for nickname in nicknames)


def test_the_database_is_not_asked_for_each_sentence(season, manager, django_assert_max_num_queries) -> None:
    player = make_player(season)
    for item in GapItem.objects.filter(item_set=season.item_set):
        turn = play(player, item=item)
        playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.BROKEN, note="no", now=NOW)
    with django_assert_max_num_queries(14):
        assert manager.get(url_of("skip-list", season)).status_code == 200


def test_only_managers_switch_a_skipped_sentence_off_and_come_back_to_the_list(season, manager) -> None:
    player = make_player(season)
    item = season.item_set.items.first()
    turn = play(player, item=item)
    playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.BROKEN, now=NOW)
    switch = reverse("gapgame:item-change", args=[season.project.slug, item.item_set_id, item.pk])
    assert switch in manager.get(url_of("skip-list", season)).content.decode()
    researcher = client_of(make_researcher(season.project))
    assert switch not in researcher.get(url_of("skip-list", season)).content.decode()
    response = manager.post(switch, {"is_used": "0", "next": url_of("skip-list", season)})
    assert response["Location"].startswith(url_of("skip-list", season))
    item.refresh_from_db()
    assert not item.is_used
