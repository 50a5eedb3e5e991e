"""The report on a season as managers and researchers read it."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.html import strip_tags

from charts.columns import BarShares, stacked_plot
from gapgame.models import Mark, Player, PlayerStatus, Season, SkipReason
from gapgame.rules.play import TurnScriptRule
from gapgame.rules.turns import OUTCOMES, TurnRule
from gapgame.selectors.report import report_on
from gapgame.services import playing
from tests.api.seeded import Program
from tests.api.test_work import address
from tests.clients import client_of
from tests.factories import NOW, make_item, make_player, make_season, make_vectors
from tests.gapgame.seasons import close, play, text_of

pytestmark = pytest.mark.django_db
EVERY_RULE = [str(rule) for rule in TurnRule]


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


def make_begun() -> Season:
    season = make_season(items=0, batch_size=20)
    for split, word in enumerate(("cat", "dog", "car", "tree", "cat"), start=0):
        make_item(season.item_set, word, split=split)
    return season


@pytest.fixture
def manager(season) -> Client:
    return client_of(season.project.created_by)


def make_played() -> tuple[Season, list[Player]]:
    """Four turns on each of two sentences: found at once, with one image, with all, and not; and one skipped."""
    season = make_begun()
    first, second, *_others = season.item_set.items.all()
    players = [make_player(season) for _ in range(4)]
    for player, guesses in zip(
        players, [("cat",), ("dog", "cat"), ("dog", "car", "cat"), ("dog", "car", "sky")], strict=True
    ):
        play(player, item=first, guesses=guesses)
        play(player, item=second, guesses=("cat", "dog"))
    skipped = play(players[0], item=season.item_set.items.last())
    playing.skip(turn_id=skipped.pk, user=players[0].user, reason=SkipReason.BROKEN, now=NOW)
    return season, players


@pytest.fixture
def season(made_once, request) -> Season:
    return made_once(make_played)[0] if "played" in request.fixturenames else made_once(make_begun)


@pytest.fixture
def played(season) -> list[Player]:
    return list(Player.objects.filter(season=season).select_related("user", "season").order_by("pk"))


def report(client: Client, season: Season, **query):
    return client.get(reverse("gapgame:game-report", args=[season.project.slug, season.slug]), query)


def values(table, name: str, *columns: str) -> list[str]:
    """What stands in the row of a split, of outcomes or other columns, without the intervals below."""
    row = next(row for row in table if row[0] == name)
    shown = (column.shown(row) for column in table.columns if column.name in (columns or OUTCOMES))
    return [strip_tags(str(cell).partition("<br>")[0]) for cell in shown]


def test_a_season_without_turns_says_so(season, manager) -> None:
    response = report(manager, season)
    assert response.status_code == 200
    assert "No turns count yet" in text_of(response)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_outcomes_are_percent_of_turns_that_count_with_similarities_and_equal_splits(season, played, manager) -> None:
    response = report(manager, season)
    page = response.context["page"]
    assert values(page["outcomes"], "intersect_0") == ["25.0%", "25.0%", "25.0%", "25.0%"]
    assert values(page["outcomes"], "intersect_1") == ["0.0%", "100.0%", "0.0%", "0.0%"]
    assert values(page["outcomes"], "All splits") == ["12.5%", "62.5%", "12.5%", "12.5%"]
    assert [row[1].turns for row in page["outcomes"]] == [8, 4, 4]
    assert re.search(r"All splits 8 4 12\.5% [\d.]+ to [\d.]+ players: [\d.]+ to [\d.]+ 62\.5%", text_of(response))
    # First: 1, 0.8, 0.8, 0.8; second: 1, 0.6, 0.6; third: 1, 0.
    columns = ("attempt_1", "attempt_2", "attempt_3", "guesses")
    assert values(page["similarity"], "intersect_0", *columns) == ["0.850", "4", "0.733", "3", "0.500", "2"]
    assert values(page["inexact"], "intersect_0", *columns) == ["0.800", "3", "0.600", "2", "0.000", "1"]
    assert page["report"].equal_size.size == 4
    assert values(page["equal"], "All splits") == ["12.5%", "62.5%", "12.5%", "12.5%"]


def test_a_program_gets_the_figures_of_the_page(season, played) -> None:
    mia, where = Program(season.project.created_by), address("game-report", season.project.slug, season.slug)
    told = mia.get(where).json()
    assert told == report_on(season, keep=()).as_json()
    assert (told["turns"], told["counted"]) == (9, 8)
    assert mia.get(where, keep=["skipped", "no_attempt"], by="language").json()["counted"] == 9
    assert list(mia.get(where, by="player").json()["errors"]) == ["by"]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_is_left_out_stands_beside_the_figures_and_a_rule_unticked_lets_its_turns_in(
    season, played, manager
) -> None:
    def ticked(response) -> list[str]:
        return re.findall(r'name="leave" value="(\w+)" checked', response.content.decode())

    response = report(manager, season)
    assert "8 turns count, out of 9 finished turns." in text_of(response)
    assert text_of(response).count("Left out: the player skipped the sentence (1).") == 3
    assert ticked(response) == EVERY_RULE
    assert report(manager, season, asked="1").context["page"]["report"].counted == 9
    response = report(manager, season, asked="1", leave=["nosuch", *EVERY_RULE], by="nosuch", page="x")
    assert response.context["page"]["report"].counted == 8
    leave = [rule for rule in EVERY_RULE if rule not in ("skipped", "no_attempt")]
    response = report(manager, season, asked="1", leave=leave)
    assert response.context["page"]["report"].counted == 9
    assert values(response.context["page"]["outcomes"], "intersect_4") == ["0.0%", "0.0%", "0.0%", "100.0%"]
    assert ticked(response) == leave
    assert "No turns are left out." in text_of(response)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_marked_play_is_left_out_and_said_to_be(season, played, manager) -> None:
    Mark.objects.create(player=played[3], rule=TurnScriptRule.STEADY, made_at=NOW)
    close(season)
    response = report(manager, season)
    assert response.context["page"]["report"].counted == 6
    assert "the turn is marked as scripted play (2)" in text_of(response)
    assert report(manager, season, asked="1", leave=["skipped"]).context["page"]["report"].counted == 8


@pytest.mark.long(reason="at least three others run each of its lines")
def test_groups_have_their_figures(season, played, manager) -> None:
    rows = report(manager, season, by="word").context["page"]["groups"]
    assert [(row.name, row.turns) for row in rows] == [("cat", 4), ("dog", 4)]


def test_there_are_no_figures_of_players_before_the_close(season, played, manager) -> None:
    response = report(manager, season, by="player")
    assert response.context["by"] == "language"
    assert response.context["page"]["report"].by.keys() == {"language"}
    assert "player" not in [name for name, _label in response.context["groups"]]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_setting_a_player_aside_does_not_tell_their_figures_before_the_close(season, played, manager) -> None:
    """Figures with somebody and without would be that player's."""
    before = report(manager, season).context["page"]["report"]
    Mark.objects.create(player=played[2], rule=TurnScriptRule.STEADY, made_at=NOW)
    for status in (PlayerStatus.SET_ASIDE, PlayerStatus.CLEARED):
        Player.objects.filter(pk__in=[played[2].pk, played[3].pk]).update(status=status)
        assert report(manager, season).context["page"]["report"] == before
    Player.objects.filter(pk=played[3].pk).update(status=PlayerStatus.SET_ASIDE)
    close(season)
    assert report(manager, season).context["page"]["report"].counted == before.counted - 2


@pytest.mark.long(reason="at least three others run each of its lines")
def test_once_closed_players_stand_under_pseudonyms(season, played, manager) -> None:
    close(season)
    response = report(manager, season, by="player")
    rows = response.context["page"]["groups"]
    assert [row.turns for row in rows] == [2, 2, 2, 2]
    assert all(re.fullmatch(r"p[0-9a-f]{12}", row.name) for row in rows)
    assert not any(player.nickname in text_of(response) for player in played)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_each_language_of_a_season_is_reported(season, played, manager) -> None:
    vectors = make_vectors("de", {"Katze": (1.0, 0.0), "Hund": (0.8, 0.6)})
    season.languages.create(language_id="de", vectors=vectors, signature=vectors.signature)
    item = make_item(season.item_set, "Katze", language="de", split=0)
    play(played[0], item=item, guesses=("Hund", "katze"))
    rows = report(manager, season, by="language").context["page"]["groups"]
    assert [(row.name, row.turns) for row in rows] == [("en", 8), ("de", 1)]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_another_season_of_the_same_sentences_is_not_mixed_in(season, played, manager) -> None:
    other = make_season(project=season.project, item_set=season.item_set, items=0, batch_size=20)
    play(make_player(other), item=season.item_set.items.first(), guesses=("cat",))
    assert report(manager, season).context["page"]["report"].turns == 9
    assert report(manager, other).context["page"]["report"].turns == 1


def test_the_plot_says_in_words_what_it_shows(season, played, manager) -> None:
    page = report(manager, season).content.decode()
    assert "<desc" in page
    assert "intersect_1: Found at the first attempt 0.0%, Found at the second attempt 100.0%" in page
    assert "style=" not in page


def test_pieces_of_a_bar_follow_each_other_and_fill_it() -> None:
    kinds = [("a", "A"), ("b", "B"), ("c", "C")]
    plot = stacked_plot(
        "Title", kinds, [BarShares("one", "", [50.0, 0.0, 50.0]), BarShares("two", "", [1.0, 98.0, 1.0])]
    )
    assert [(piece.x, piece.width) for piece in plot.bars[0].pieces] == [("0.00%", "50.00%"), ("50.00%", "50.00%")]
    assert [piece.label for piece in plot.bars[1].pieces] == ["", "98", ""]
    assert plot.summary == "one: A 50.0%, B 0.0%, C 50.0%; two: A 1.0%, B 98.0%, C 1.0%"


def test_places_in_a_plot_have_a_point_whatever_the_language(season, played, manager) -> None:
    with translation.override("de"):
        plot = stacked_plot("Title", [("a", "A"), ("b", "B")], [BarShares("one", "", [33.3, 66.7])])
    assert plot.bars[0].pieces[1].x == "33.30%"


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_number_of_questions_to_the_database_does_not_grow_with_the_turns(
    season, played, manager, django_assert_max_num_queries
) -> None:
    with django_assert_max_num_queries(16):
        report(manager, season)
    for player in played:
        for item in list(season.item_set.items.all())[2:4]:
            play(player, item=item, guesses=("sky", "moon", "sun"))
    with django_assert_max_num_queries(16):
        assert report(manager, season).context["page"]["report"].turns == 17
