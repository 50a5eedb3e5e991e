"""Requests that no page of ours sends, and words that nobody would type: nothing breaks, and nothing is had by them."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from random import Random
from uuid import uuid4

import pytest
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse

from core.people.models import Membership
from core.people.services.consent import publish_consent_text
from gapgame.models import Attempt, Mark, Player, Season, SkipReason, Turn, TurnOutcome
from gapgame.rules.play import TurnScriptRule
from gapgame.services import playing
from gapgame.services.playing import GRACE, close_season
from tests.clients import client_of
from tests.factories import NOW, make_item, make_player, make_season, make_user

pytestmark = pytest.mark.django_db
DIGITS = "9" * 5000


@pytest.fixture
def clock(monkeypatch):
    """What the pages take for now; it begins ten seconds after NOW, when the turn was opened."""
    times = [NOW + timedelta(seconds=10)]
    monkeypatch.setattr("django.utils.timezone.now", lambda: times[0])
    return times


def make_joined() -> Player:
    return make_player(make_season())


def make_turn() -> tuple[Player, Turn]:
    player = make_joined()
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    return player, playing.open_turn(player_id=player.pk, user=player.user, now=NOW)


@pytest.fixture
def player(clock, made_once, request) -> Player:
    return made_once(make_turn)[0] if "turn" in request.fixturenames else made_once(make_joined)


@pytest.fixture
def turn(player) -> Turn:
    return Turn.objects.select_related("player__season__project", "player__user", "item", "batch").get(
        player=player, outcome=TurnOutcome.OPEN
    )


@pytest.fixture
def desk(player) -> Client:
    return client_of(player.user)


def guess_at(turn_id) -> str:
    return reverse("gapgame:guess-make", args=[turn_id])


def test_the_turn_of_another_and_one_that_is_not_there_are_not_found(turn):
    outsider = client_of(make_player(turn.player.season).user)
    for turn_id, name, method in product(
        (turn.pk, uuid4()), ("guess-make", "turn-skip"), ("post", "get", "put", "delete")
    ):
        sent = {"number": "1", "guess": "cat", "reason": "broken"}
        answer = getattr(outsider, method)(reverse(f"gapgame:{name}", args=[turn_id]), sent)
        assert answer.status_code == (404 if method == "post" else 405)
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("guess", ["\x00", "cat\x00"])
def test_a_guess_with_a_character_that_no_database_keeps_is_taken_without_it_or_not_at_all(desk, turn, guess):
    answer = desk.post(guess_at(turn.pk), {"number": "1", "guess": guess})
    assert answer.status_code in (302, 422)
    assert not Attempt.objects.filter(guess__contains="x00").exists()
    assert Attempt.objects.count() == (answer.status_code == 302)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("guess", "status"),
    [
        ("😀" * 100, 302),
        ("😀" * 101, 422),
        ("x" * 10_000, 422),
        ("\u202egod\u2066", 302),
        ("e" + "\u0301" * 99, 302),
        ("ﷺ" * 100, 302),
        ("<script>alert(1)</script>", 302),
        ("\u00a0\u2003\n", 422),
        ("' OR 1=1 --", 302),
    ],
)
def test_odd_words_are_guesses_like_others_or_are_said_to_be_none(desk, turn, guess, status):
    assert desk.post(guess_at(turn.pk), {"number": "1", "guess": guess}).status_code == status
    page = desk.get(reverse("gapgame:turn-show", args=[turn.pk]))
    assert page.status_code == 200
    assert "<script>alert" not in page.content.decode()
    assert Turn.objects.get(pk=turn.pk).attempts_made == (status == 302)


def test_a_number_that_is_not_the_next_attempts_takes_no_guess(desk, turn):
    for number in ("", "0", "2", "3", "4", "-1", "x", "٢", "1.0", DIGITS, "\x00"):
        assert desk.post(guess_at(turn.pk), {"number": number, "guess": "cat"}).status_code == 302, number
        assert not Attempt.objects.exists()
    # A one, for whoever writes in full width.
    desk.post(guess_at(turn.pk), {"number": "１", "guess": "cat"})
    assert Turn.objects.get(pk=turn.pk).outcome == TurnOutcome.ATTEMPT_1


def test_fields_that_no_form_has_change_nothing(desk, turn):
    forged = {"number": "1", "guess": "dog", "score": "1000000", "outcome": "attempt_1", "similarity": "1000000"}
    forged |= {"made_at": "2000-01-01", "player": "1", "turn": str(uuid4()), "attempts_made": "0", "now": "1"}
    desk.post(guess_at(turn.pk), forged)
    attempt = Attempt.objects.get()
    assert (attempt.turn_id, attempt.number, attempt.similarity) == (turn.pk, 1, 800_000)
    assert Turn.objects.get(pk=turn.pk).outcome == TurnOutcome.OPEN


@pytest.mark.parametrize(("reason", "kept"), [("broken", "no verb"), ("\x00", ""), ("", ""), ("nothing", "")])
def test_a_skip_keeps_what_a_database_can_keep_of_its_note(desk, turn, reason, kept):
    address = reverse("gapgame:turn-skip", args=[turn.pk])
    assert desk.post(address, {"reason": reason, "note": "no\x00 verb"}).status_code == 302
    assert Turn.objects.get(pk=turn.pk).skip_note == kept


def test_a_language_that_is_not_played_is_not_found(desk, player):
    address = reverse("gapgame:batch-take", args=[player.season.slug])
    for language in ("", "xx", "\x00", "x" * 10_000, "EN"):
        assert desk.post(address, {"language": language}).status_code == 404, language


def test_pages_that_are_not_there_are_others_that_are(desk, turn):
    season = turn.player.season
    close_season(season_id=season.pk, now=season.ends_at + GRACE)
    for name, asked in product(("leaderboard-show", "turn-list"), ("0", "-1", "x", "", DIGITS, "\x00", "٣")):
        page = desk.get(reverse(f"gapgame:{name}", args=[season.slug]), {"page": asked, "show": asked})
        assert page.status_code == 200, asked


def test_a_nickname_that_none_can_read_is_refused(desk, player):
    nicknames = ("\x00ab", "a\u202eb", "😀😀", "x" * 10_000, " ", "a@b.c", "\u200d\u200d")
    for name, nickname in product(("season-join", "player-edit"), nicknames):
        address = reverse(f"gapgame:{name}", args=[player.season.slug])
        assert desk.post(address, {"nickname": nickname}).status_code in (302, 422)
    assert Player.objects.get(pk=player.pk).nickname == player.nickname


def test_no_table_is_asked_about_what_is_refused(turn, monkeypatch):
    """A guess that is the word needs no vectors: were they looked up for others, the time would tell which it is."""
    monkeypatch.setattr(playing, "vectors_of", lambda signature: pytest.fail("vectors were looked up"))
    season = turn.player.season
    for number, at in ((1, NOW), (0, NOW + timedelta(minutes=1)), (2, NOW + timedelta(minutes=1)), (1, season.ends_at)):
        with pytest.raises(playing.PlayError):
            playing.make_guess(turn_id=turn.pk, user=turn.player.user, number=number, guess="dog", now=at)


@pytest.mark.parametrize("how", ["removed", "withdrawn", "new text"])
def test_who_takes_part_no_more_can_neither_guess_nor_skip_and_is_told(how, desk, turn):
    user, project = turn.player.user, turn.player.season.project
    if how == "removed":
        Membership.objects.filter(user=user).delete()
    elif how == "withdrawn":
        user.consents.update(withdrawn_at=NOW)
    else:
        publish_consent_text(project=project, body="Another text.", by=project.created_by, now=NOW)
    address = guess_at(turn.pk)
    answer = desk.post(address, {"number": "1", "guess": "cat"}, headers={"HX-Request": "true"})
    assert answer.status_code == 410
    assert "you no longer take part in it" in answer.content.decode()
    with pytest.raises(playing.NotPlayingError):
        playing.skip(turn_id=turn.pk, user=user, reason=SkipReason.OTHER, now=NOW)
    assert Turn.objects.get(pk=turn.pk).outcome == TurnOutcome.OPEN
    assert not Attempt.objects.exists()


def test_a_sentence_whose_word_was_told_in_one_season_does_not_come_in_another(player, clock):
    first = player.season
    second = make_season(items=0, item_set=first.item_set)
    again = Player.objects.create(season=second, user=player.user, nickname="again", joined_at=NOW)
    for each, number in ((player, 3), (again, 2)):
        batch = playing.take_batch(player_id=each.pk, user=player.user, language="en", now=NOW, rng=Random(1))
        assert batch.all_turns.count() == number
        Turn.objects.filter(batch=batch).update(outcome=TurnOutcome.FAILED, opened_at=NOW, finished_at=NOW)
    with pytest.raises(playing.NoSentencesLeftError):
        playing.take_batch(player_id=again.pk, user=player.user, language="en", now=NOW, rng=Random(1))


def test_a_word_that_grows_when_its_case_is_folded_keeps_no_season_from_closing(player):
    """Half of the last twenty first guesses are a word of 100 signs, which are 1,800 once they are normalised."""
    long = "ﷺ" * 100
    season = player.season
    for _ in range(20):
        make_item(season.item_set)
    Season.objects.filter(pk=season.pk).update(batch_size=20)
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    now = NOW
    for _ in range(20):
        turn = playing.open_turn(player_id=player.pk, user=player.user, now=now)
        for number, word in enumerate((long, "dog", "cat"), start=1):
            now += timedelta(seconds=3 + number)
            playing.make_guess(turn_id=turn.pk, user=player.user, number=number, guess=word, now=now)
    close_season(season_id=season.pk, now=season.ends_at + GRACE)
    assert Season.objects.get(pk=season.pk).closed_at
    assert Mark.objects.filter(player=player, rule=TurnScriptRule.SAME).exists()


def test_an_account_with_play_is_not_deleted_so_that_percentages_and_ranks_stay_right(turn, clock):
    user = turn.player.user
    with pytest.raises(ProtectedError):
        user.delete()
    installer = client_of(make_user(is_staff=True, is_superuser=True))
    installer.post(reverse("admin:people_user_delete", args=[user.pk]), {"post": "yes"})
    assert Player.objects.filter(user=user).exists()


def test_a_guess_and_the_next_sentence_ask_the_database_few_questions(desk, turn, clock, django_assert_max_num_queries):
    """Many players wait for them at once; two are for the session and the account, two for the test's savepoints."""
    in_place = {"headers": {"HX-Request": "true"}}
    # The vectors are opened once per process.
    playing.similarity_of("dog", turn.item.word, turn.batch.signature, language="en")
    for number, most in ((1, 15), (2, 16), (3, 20)):
        with django_assert_max_num_queries(most):
            answer = desk.post(guess_at(turn.pk), {"number": number, "guess": "dog" * number}, **in_place)
        assert answer.status_code == 200
        clock[0] += timedelta(seconds=2)
    with django_assert_max_num_queries(13):
        assert desk.post(reverse("gapgame:turn-open", args=[turn.player.season.slug]), **in_place).status_code == 200
