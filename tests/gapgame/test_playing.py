"""Batches, turns and guesses, each exactly once; and the cut-off."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core.conversation.permissions import ReportableItem
from core.conversation.rules import ReportReason
from core.conversation.services import keep_report
from core.people.models import Membership
from gapgame.models import Attempt, GapItem, Player, ScoreCount, SkipReason, Turn, TurnOutcome
from gapgame.rules.play import LEVELS, MIN_PAUSE
from gapgame.services import playing
from gapgame.services.playing import GRACE, close_overdue, close_season
from tests.concurrency import together
from tests.factories import MINUTE, NOW, make_item, make_language, make_player, make_season, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
PAUSE = MIN_PAUSE


def take(player: Player, now=NOW, seed: int = 1):
    return playing.take_batch(player_id=player.pk, user=player.user, language="en", now=now, rng=Random(seed))


def open_turn(player: Player, now=NOW) -> Turn:
    return playing.open_turn(player_id=player.pk, user=player.user, now=now)


def guess(turn: Turn, number: int, word: str, now=None, user=None) -> Turn:
    about: dict[str, Any] = {"turn_id": turn.pk, "user": user or turn.player.user, "number": number, "guess": word}
    return playing.make_guess(**about, now=now or NOW + number * PAUSE)


@pytest.fixture
def player() -> Player:
    return make_player(make_season())


@pytest.fixture
def turn(player: Player) -> Turn:
    take(player)
    return open_turn(player)


@pytest.mark.parametrize(
    ("guesses", "outcome", "score"),
    [
        (["cat"], TurnOutcome.ATTEMPT_1, 1_000_000),
        (["dog", "CAT"], TurnOutcome.ATTEMPT_2, 900_000),
        (["sky", "tree", "cat"], TurnOutcome.ATTEMPT_3, 800_000),
        (["dog", "tree", "cat"], TurnOutcome.ATTEMPT_3, 800_000),
        (["car", "dog", "sky"], TurnOutcome.FAILED, 720_000),
        (["sky", "tree", "nothing"], TurnOutcome.FAILED, 0),
    ],
)
def test_a_turn_ends_with_the_word_or_after_three_attempts_and_scores_the_best(turn, guesses, outcome, score):
    for number, word in enumerate(guesses, start=1):
        guess(turn, number, word)
    turn.refresh_from_db()
    assert (turn.outcome, turn.score, turn.attempts_made) == (outcome, score, len(guesses))
    player = Player.objects.get(pk=turn.player_id)
    assert (player.total, player.turns) == (score, 1)
    assert player.reached_at == NOW + len(guesses) * PAUSE


def test_a_guess_is_the_word_in_the_lower_case_of_the_language(turn):
    GapItem.objects.filter(pk=turn.item_id).update(word="ışık", language=make_language("tr"))
    guess(turn, 1, "IŞIK")
    turn.refresh_from_db()
    assert turn.outcome == TurnOutcome.ATTEMPT_1


def test_hidden_characters_are_no_part_of_a_guess(turn):
    with pytest.raises(playing.InvalidGuessError):
        guess(turn, 1, "\u200b\u202e")
    guess(turn, 1, "c\u200bat\u2069")
    turn.refresh_from_db()
    assert (turn.outcome, turn.attempts.get().guess) == (TurnOutcome.ATTEMPT_1, "cat")


def test_a_guess_without_a_vector_scores_nothing_and_is_told_so(turn):
    guess(turn, 1, "qwertz")
    guess(turn, 2, "sky")
    unknown, known = turn.attempts.all()
    assert (unknown.similarity, unknown.has_vector) == (0, False)
    assert (known.similarity, known.has_vector) == (0, True)


def test_the_same_number_or_guess_twice_costs_one_attempt(turn):
    guess(turn, 1, "dog")
    for word in ("dog", "car"):
        with pytest.raises(playing.StaleTurnError):
            guess(turn, 1, word, now=NOW + 5 * PAUSE)
    with pytest.raises(playing.StaleTurnError):
        guess(turn, 3, "car", now=NOW + 5 * PAUSE)
    assert list(turn.attempts.values_list("guess", flat=True)) == ["dog"]
    with pytest.raises(playing.InvalidGuessError):
        guess(turn, 2, " DOG ")
    assert guess(turn, 2, "cat").outcome == TurnOutcome.ATTEMPT_2


def test_a_finished_turn_takes_no_fourth_attempt_and_is_not_scored_again(turn):
    for number, word in enumerate(("dog", "car", "tree"), start=1):
        guess(turn, number, word)
    for number in (1, 3, 4):
        with pytest.raises(playing.StaleTurnError):
            guess(turn, number, "cat", now=NOW + 9 * PAUSE)
    player = Player.objects.get(pk=turn.player_id)
    assert (player.total, player.turns) == (800_000, 1)


@pytest.mark.parametrize("word", ["", "   ", "x" * 101])
def test_what_is_no_word_costs_no_attempt(turn, word):
    with pytest.raises(playing.InvalidGuessError):
        guess(turn, 1, word)
    assert not turn.attempts.exists()


def test_a_guess_sooner_than_a_person_can_make_one_is_refused_and_costs_no_attempt(turn):
    almost = PAUSE - timedelta(milliseconds=1)
    with pytest.raises(playing.GuessTooSoonError):
        guess(turn, 1, "dog", now=NOW + almost)
    guess(turn, 1, "dog", now=NOW + PAUSE)
    with pytest.raises(playing.GuessTooSoonError):
        guess(turn, 2, "cat", now=NOW + PAUSE + almost)
    assert guess(turn, 2, "cat", now=NOW + 2 * PAUSE).outcome == TurnOutcome.ATTEMPT_2


def test_nobody_plays_the_turn_of_another(turn):
    other = make_player(turn.player.season)
    with pytest.raises(Turn.DoesNotExist):
        guess(turn, 1, "cat", user=other.user)
    with pytest.raises(Turn.DoesNotExist):
        playing.skip(turn_id=turn.pk, user=other.user, reason=SkipReason.OTHER, now=NOW)
    with pytest.raises(Player.DoesNotExist):
        playing.open_turn(player_id=turn.player_id, user=other.user, now=NOW)
    with pytest.raises(Player.DoesNotExist):
        playing.take_batch(player_id=turn.player_id, user=make_user(), language="en", now=NOW, rng=Random(1))


def test_a_skipped_sentence_scores_nothing_and_the_next_one_comes(turn):
    guess(turn, 1, "dog")
    playing.skip(turn_id=turn.pk, user=turn.player.user, reason=SkipReason.BROKEN, note=" No verb. ", now=NOW + MINUTE)
    turn.refresh_from_db()
    assert (turn.outcome, turn.score, turn.skip_reason, turn.skip_note) == ("skipped", 0, "broken", "No verb.")
    player = Player.objects.get(pk=turn.player_id)
    assert (player.total, player.turns) == (0, 0)
    assert open_turn(player).position == 2
    with pytest.raises(playing.StaleTurnError):
        playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.OTHER, now=NOW)


def test_no_sentence_comes_twice_and_every_one_comes_before_nothing_is_left(player):
    for size in (3, 2):
        batch = take(player)
        assert batch.all_turns.count() == size
        for _ in range(size):
            guess(open_turn(player), 1, "cat", now=NOW + PAUSE)
    with pytest.raises(playing.NoSentencesLeftError):
        take(player)
    assert set(Turn.objects.values_list("item", flat=True)) == set(GapItem.objects.values_list("pk", flat=True))
    assert open_turn(player) is None


def test_a_batch_is_played_to_its_end_in_turns_that_are_opened_once(player):
    take(player)
    with pytest.raises(playing.UnfinishedBatchError):
        take(player)
    waiting = Turn.objects.filter(player=player).first()
    with pytest.raises(playing.StaleTurnError):
        guess(waiting, 1, "cat")
    assert open_turn(player) == open_turn(player, NOW + MINUTE)
    assert Turn.objects.get(outcome=TurnOutcome.OPEN).opened_at == NOW


def fetch(player: Player, now=NOW) -> Turn | None:
    return playing.fetch_turn(player_id=player.pk, user=player.user, now=now)


def test_a_sentence_fetched_ahead_goes_on_waiting_and_is_the_next_one(turn, player):
    assert fetch(player) is None
    guess(turn, 1, "cat")
    fetched = fetch(player, NOW + MINUTE)
    # As another tab does; and a guess, which is for turns that are opened.
    assert fetch(player, NOW + 2 * MINUTE) == fetched
    with pytest.raises(playing.StaleTurnError):
        guess(fetched, 1, "cat")
    fetched.refresh_from_db()
    assert (fetched.outcome, fetched.opened_at, fetched.fetched_at) == (TurnOutcome.WAITING, None, NOW + MINUTE)
    with pytest.raises(playing.UnfinishedBatchError):
        take(player)
    close_season(season_id=player.season_id, now=player.season.ends_at + GRACE)
    assert Turn.objects.get(pk=fetched.pk).outcome == TurnOutcome.WAITING
    assert Player.objects.get(pk=player.pk).turns == 1


@pytest.mark.parametrize(("shown_for_s", "opened_after_s"), [(0, 60), (20, 40), (3600, 0)])
def test_the_time_of_a_turn_runs_from_when_it_is_shown_after_its_fetch(turn, player, shown_for_s, opened_after_s):
    guess(turn, 1, "cat")
    fetched, now = fetch(player, NOW + MINUTE), NOW + 2 * MINUTE
    about: dict[str, Any] = {"player_id": player.pk, "user": player.user, "shown_for": timedelta(seconds=shown_for_s)}
    opened = playing.open_turn(**about, shown=fetched.pk, now=now)
    started_at = NOW + MINUTE + timedelta(seconds=opened_after_s)
    assert (opened, opened.opened_at, opened.shown_at) == (fetched, started_at, started_at)
    # Of another turn it says nothing.
    guess(opened, 1, "cat", now=now + PAUSE)
    assert playing.open_turn(**about, shown=fetched.pk, now=now + MINUTE).opened_at == now + MINUTE


def test_a_sentence_that_is_switched_off_is_not_drawn(player):
    GapItem.objects.exclude(pk=GapItem.objects.first().pk).update(is_used=False)
    assert take(player).all_turns.count() == 1


def test_a_sentence_with_an_image_that_the_player_reported_is_not_drawn():
    player = make_player(make_season(items=3, batch_size=3))
    reported, *others = GapItem.objects.all()
    image, language = reported.images.get(position=0).image, reported.language
    item = ReportableItem(player.season.project, language, image, "")
    said: dict[str, Any] = {"reason": ReportReason.OFFENSIVE, "comment": "", "now": NOW}
    with transaction.atomic():
        keep_report(item=item, about="turns", person=player.user, **said)
    assert set(take(player).all_turns.values_list("item", flat=True)) == {other.pk for other in others}
    assert take(make_player(player.season)).all_turns.filter(item=reported).exists()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.sqlite
def test_the_splits_are_alike_likely_however_many_sentences_each_has():
    season = make_season(items=0, batch_size=1)
    for split, sentences in enumerate((1, 2, 4, 8, 45)):
        for _ in range(sentences):
            make_item(season.item_set, split=split)
    player = make_player(season)
    drawn = Counter[int]()
    for seed in range(150):
        drawn[take(player, seed=seed).all_turns.get().item.split] += 1
        player.batches.all().delete()
    # 30 of 150 each; the seeds are the same each time. Were all sentences alike likely, the first split had 2 or 3.
    assert all(abs(drawn[split] - 30) < 15 for split in range(5)), drawn


def test_who_is_no_player_any_more_gets_no_sentence(player):
    take(player)
    Membership.objects.filter(user=player.user).delete()
    with pytest.raises(playing.NotPlayingError):
        open_turn(player)


def test_who_withdrew_consent_gets_no_batch(player):
    player.user.consents.update(withdrawn_at=NOW)
    with pytest.raises(playing.NotPlayingError):
        take(player)


def test_play_begins_at_the_start_and_stops_at_the_instant_of_the_cut_off():
    season = make_season(starts_at=NOW, ends_at=NOW + MINUTE)
    player = make_player(season)
    tick = timedelta(microseconds=1)
    with pytest.raises(playing.NotPlayingError):
        take(player, now=NOW - tick)
    take(player)
    turn = open_turn(player)
    guess(turn, 1, "dog", now=NOW + MINUTE - tick)
    for refused in (
        lambda: guess(turn, 2, "cat", now=NOW + MINUTE),
        lambda: playing.skip(turn_id=turn.pk, user=player.user, reason=SkipReason.OTHER, now=NOW + MINUTE),
        lambda: open_turn(player, now=NOW + MINUTE),
        lambda: take(player, now=NOW + MINUTE),
    ):
        with pytest.raises(playing.NotPlayingError):
            refused()
    assert turn.attempts.count() == 1


def test_turns_in_progress_are_scored_with_what_was_guessed_by_the_cut_off():
    season = make_season(ends_at=NOW + MINUTE)
    eager, idle = make_player(season), make_player(season)
    for player in (eager, idle):
        take(player)
        open_turn(player)
    turn = Turn.objects.get(player=eager, outcome=TurnOutcome.OPEN)
    guess(turn, 1, "dog", now=NOW + PAUSE)
    with pytest.raises(ValueError, match="ends at"):
        close_season(season_id=season.pk, now=NOW + MINUTE + GRACE - timedelta(microseconds=1))
    assert close_overdue(now=NOW + MINUTE + GRACE) == 1
    assert close_overdue(now=NOW + MINUTE + GRACE) == 0
    turn.refresh_from_db()
    eager.refresh_from_db()
    idle.refresh_from_db()
    assert (turn.outcome, turn.score, turn.finished_at) == ("cut_off", 800_000, NOW + MINUTE)
    assert (eager.total, eager.rank, eager.reached_at) == (800_000, 1, NOW + PAUSE)
    assert (idle.total, idle.rank) == (0, 2)
    # A guess that arrived in time, but was written too late by far, finds the turn over.
    with pytest.raises(playing.StaleTurnError):
        guess(turn, 2, "cat", now=NOW + 2 * PAUSE)


def test_double_clicks_on_two_devices_make_one_attempt(turn):
    results = together(lambda word: _outcome(lambda: guess(turn, 1, word)), ["dog", "car", "tree", "sky"] * 4)
    assert Counter(results) == {"taken": 1, "StaleTurnError": 15}
    assert Attempt.objects.filter(turn=turn).count() == 1


def test_the_last_attempt_is_scored_once_however_often_it_is_sent(turn):
    guess(turn, 1, "dog")
    results = together(lambda _: _outcome(lambda: guess(turn, 2, "cat")), range(16))
    assert results.count("taken") == 1
    player = Player.objects.get(pk=turn.player_id)
    assert (player.total, player.turns, player.streak) == (900_000, 1, 1)


def test_control_without_the_lock_a_turn_is_scored_twice(turn, monkeypatch):
    """Two requests that look before either has written: it shows what the lock is for."""
    both_have_looked = Barrier(2, timeout=60)

    def look(turn_id, user):
        turn = Turn.objects.select_related("player__season").get(pk=turn_id)
        both_have_looked.wait()
        return turn

    monkeypatch.setattr(playing, "_locked_turn", look)
    monkeypatch.setattr(Attempt.objects, "create", Attempt)
    monkeypatch.setattr(transaction, "atomic", _no_transaction)
    assert together(lambda _: _outcome(lambda: guess(turn, 1, "cat")), range(2)) == ["taken", "taken"]


def test_opening_and_drawing_on_two_devices_gives_one_turn_and_one_batch(player):
    batches = together(lambda seed: _outcome(partial(take, player, seed=seed)), range(12))
    assert Counter(batches) == {"taken": 1, "UnfinishedBatchError": 11}
    opened = together(lambda _: open_turn(player).pk, range(12))
    assert len(set(opened)) == 1


def test_16_players_at_once_score_each_turn_once_and_the_counts_are_right():
    season = make_season(items=8, batch_size=4)
    players = [make_player(season) for _ in range(16)]

    def play(player: Player) -> None:
        rng = Random(player.pk)
        take(player, seed=player.pk)
        for step in range(4):
            turn = open_turn(player, NOW + step * MINUTE)
            for number in (1, 2, 3):
                word = rng.choice(["cat", "dog", "car", "tree", "sky", "none"])
                now = NOW + step * MINUTE + number * PAUSE
                while _outcome(lambda: guess(turn, number, word, now=now)) == "InvalidGuessError":  # noqa: B023
                    word += "s"
                if Turn.objects.get(pk=turn.pk).outcome != TurnOutcome.OPEN:
                    break

    together(play, players)
    assert Turn.objects.exclude(outcome__in=["waiting", "open"]).count() == 64
    for player in Player.objects.all():
        scores = list(player.all_turns.values_list("score", flat=True))
        assert (player.total, player.turns) == (sum(scores), 4)
    _assert_counts_are_right(season)


def _assert_counts_are_right(season) -> None:
    totals = list(Player.objects.filter(season=season, turns__gte=1).values_list("total", flat=True))
    for level in LEVELS:
        counted = dict(
            ScoreCount.objects.filter(season=season, level=level, players__gt=0).values_list("stretch", "players")
        )
        assert counted == Counter(total >> level for total in totals)


def test_what_must_never_be_is_refused_by_the_database(turn):
    other = make_player(turn.player.season)
    for broken in (
        lambda: Turn.objects.filter(pk=turn.pk).update(attempts_made=4),
        lambda: Turn.objects.filter(pk=turn.pk).update(score=1_000_001),
        lambda: Turn.objects.filter(pk=turn.pk).update(outcome=TurnOutcome.FAILED),
        lambda: Turn.objects.filter(player=turn.player).update(outcome=TurnOutcome.OPEN),
        lambda: Player.objects.filter(pk=other.pk).update(total=1),
        lambda: Player.objects.filter(pk=other.pk).update(nickname=turn.player.nickname.upper()),
        lambda: Attempt.objects.create(
            turn=turn, number=4, guess="x", similarity=0, score=0, has_vector=True, made_at=NOW
        ),
        lambda: Turn.objects.create(player=turn.player, batch=turn.batch, item=turn.item, position=99, seed=1),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            broken()


def _outcome(act) -> str:
    try:
        act()
    except playing.PlayError as refused:
        return type(refused).__name__
    return "taken"


class _no_transaction:  # noqa: N801
    def __init__(self, **about) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error) -> None: ...
