"""What players learn of the length of a batch before they take it, and of their own time after it."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.test import Client

from gapgame.models import GapItem, Player, Season, SeasonAccess, SeasonLanguage, SkipReason, Turn
from gapgame.rules.play import BREAK
from gapgame.selectors import outlooks
from gapgame.services import playing
from tests.clients import client_of
from tests.factories import NOW, make_player, make_season, make_vectors
from tests.gapgame.seasons import DAY, play, set_clock, text_of

pytestmark = pytest.mark.django_db
PACE = "about {} min (median of other people)"


@pytest.fixture
def season(monkeypatch: pytest.MonkeyPatch) -> Season:
    set_clock(monkeypatch, NOW + timedelta(hours=1))
    return make_season(batch_size=100)


def played(season: Season, seconds: int, sentences: int = 2) -> Player:
    player = make_player(season)
    for item in GapItem.objects.order_by("pk")[:sentences]:
        turn = play(player, item=item, guesses=(item.word,))
        Turn.objects.filter(pk=turn.pk).update(finished_at=turn.opened_at + timedelta(seconds=seconds))
    return player


def pages_of(player: Player) -> list[str]:
    client = client_of(player.user)
    return [text_of(client.get(address)) for address in ("/game/", f"/game/{player.season.slug}/")]


def test_the_minutes_of_a_batch_are_the_median_of_three_other_people(season: Season) -> None:
    newcomer = make_player(season)
    for seconds in (12, 30):
        played(season, seconds)
    assert not any("min (median" in page for page in pages_of(newcomer)), "of two it might be somebody's own"
    slow = played(season, 60)

    # A hundred sentences of 30 seconds each.
    for page in pages_of(newcomer):
        assert "Sentences at a time 100" in page
        assert PACE.format(50) in page
    assert not any("min (median" in page for page in pages_of(slow)), "their own does not count"


def test_a_visitor_who_may_be_one_of_three_sees_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, NOW + timedelta(hours=1))
    season = make_season(batch_size=100, access=SeasonAccess.OPEN)
    address = f"/game/{season.slug}/"
    for seconds in (12, 30, 60):
        played(season, seconds)
    assert "min (median" not in text_of(Client().get(address))
    played(season, 30)
    assert PACE.format(50) in text_of(Client().get(address))


def test_a_pace_stays_when_one_plays_a_lot_and_many_start(season: Season, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlooks, "MAX_BATCHES", 3)
    newcomer = make_player(season)
    for sentences in (1, 1, 3):
        played(season, 30, sentences)
    assert PACE.format(50) in pages_of(newcomer)[1]
    for _ in range(3):
        player = make_player(season)
        playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    assert PACE.format(50) in pages_of(newcomer)[1]


def test_who_has_joined_a_coming_season_sees_how_long_its_batches_are() -> None:
    season = make_season(starts_at=NOW + 10**4 * DAY, ends_at=NOW + 2 * 10**4 * DAY)
    for page in pages_of(make_player(season)):
        assert page.count(f"Sentences at a time {season.batch_size}") == 1


def test_a_language_with_too_few_people_has_the_median_of_all_languages(season: Season) -> None:
    german = make_vectors("de")
    SeasonLanguage.objects.create(season=season, language_id="de", vectors=german, signature=german.signature)
    for _ in range(3):
        played(season, 30)

    for page in pages_of(make_player(season)):
        assert f"English: {PACE.format(50)} German: about 50 min (median of other people, all languages)" in page


def test_a_turn_that_was_left_open_counts_until_a_break(season: Season) -> None:
    for _ in range(3):
        played(season, 10**5)
    assert PACE.format(round(100 * BREAK / timedelta(minutes=1))) in pages_of(make_player(season))[1]


def test_after_a_batch_stand_thanks_time_progress_and_the_next_batch(season: Season) -> None:
    player = played(season, 90, sentences=2)
    played(season, 90, sentences=3)
    for _ in range(2):
        skipper = played(season, 30)
    skipped = play(skipper, item=GapItem.objects.order_by("pk")[3])
    at = NOW + timedelta(seconds=30)
    playing.skip(turn_id=skipped.pk, user=skipper.user, reason=SkipReason.OTHER, now=at)

    page = pages_of(player)[1]

    assert "Thank you! Everything that you sent is saved." in page
    assert "Your time so far 3 min" in page
    assert f"everybody’s work: 3 of {GapItem.objects.count()}" in page
    assert PACE.format(50) in page
    assert "Play the next 100 sentences" in page
    assert 'href="/">Stop for now' in client_of(player.user).get(f"/game/{season.slug}/").content.decode()
