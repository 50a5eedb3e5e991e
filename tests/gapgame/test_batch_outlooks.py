"""What players learn of the length of a batch before they take it, and of their own time after it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gapgame.models import GapItem, Player, Season, SeasonLanguage, Turn
from gapgame.rules.play import BREAK
from tests.clients import client_of
from tests.factories import NOW, make_player, make_season, make_vectors
from tests.gapgame.seasons import play, set_clock, text_of

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
        played(season, 30)

    page = pages_of(player)[1]

    assert "Thank you! Everything that you sent is saved." in page
    assert "Your time so far 3 min" in page
    assert f"everybody’s work: 3 of {GapItem.objects.count()}" in page
    assert PACE.format(50) in page
    assert "Play the next 100 sentences" in page
    assert 'href="/">Stop for now' in client_of(player.user).get(f"/game/{season.slug}/").content.decode()
