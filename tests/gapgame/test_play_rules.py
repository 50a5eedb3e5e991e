"""What a guess is worth by the published rules, and which play is marked as scripted; nothing is deleted."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from gapgame.models import GameBatch, Mark, Player, Turn
from gapgame.rules import play as rules
from gapgame.rules.play import FinishedTurn, TurnScriptRule, rules_broken
from gapgame.services import playing
from gapgame.services.ranking import check_players
from tests.factories import MINUTE, NOW, make_item, make_player, make_season


@pytest.mark.parametrize(
    ("number", "similarity", "score"),
    [
        (1, 1.0, 1.0),
        (2, 1.0, 0.9),
        (3, 1.0, 0.8),
        (1, 0.5, 0.5),
        (2, 0.5, 0.45),
        (3, 0.5, 0.4),
        (1, 0.0, 0.0),
        (1, -0.3, 0.0),
        (3, 1.2, 0.8),
    ],
)
def test_an_attempt_scores_its_similarity_less_a_tenth_for_each_earlier_one(number, similarity, score):
    assert rules.attempt_score(number, rules.similarity_in_millionths(similarity)) == round(score * rules.MICRO)


def test_a_turn_scores_the_best_of_its_attempts_whichever_it_was():
    scores = [
        rules.attempt_score(number, rules.similarity_in_millionths(near))
        for number, near in ((1, 0.83), (2, 0.9), (3, 0.2))
    ]
    assert scores == [830_000, 810_000, 160_000]
    assert rules.turn_score(scores) == 830_000
    assert rules.turn_score([]) == 0


def test_halves_of_a_millionth_go_to_the_even_one():
    assert rules.attempt_score(2, 5) == 4  # 4.5
    assert rules.attempt_score(2, 15) == 14  # 13.5
    assert rules.similarity_in_millionths(0.5 / 2**20) == 0  # 0.477 millionths
    assert rules.similarity_in_millionths(0.8) == 800_000


@pytest.mark.parametrize(
    ("guess", "word"),
    [
        ("Cat", "cat"),
        ("  cat ", "cat"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "café"),
        ("ｃａｔ", "cat"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("ice  cream", "ice cream"),
        ("कि\u0924ाब", "किताब"),
    ],
)
def test_words_match_whatever_case_spacing_and_encoding(guess, word):
    assert rules.is_exact(guess, word)
    assert rules.is_exact(f"\u2067{guess[:1]}\u200b{guess[1:]}\u2069", word)


@pytest.mark.parametrize(
    ("language", "guess", "word"),
    [("tr", "IŞIK", "ışık"), ("tr", "i̇ki", "İKİ"), ("az", "IRAQ", "ıraq"), ("lt", "Ì", "i\u0307\u0300")],
)
def test_words_match_in_the_lower_case_of_their_language(language, guess, word):
    assert rules.is_exact(guess, word, language=language)
    assert not rules.is_exact(guess, word)


@pytest.mark.parametrize(("guess", "word"), [("cats", "cat"), ("", "cat"), ("resume", "résumé"), ("c at", "cat")])
def test_another_word_is_another_word(guess, word):
    assert not rules.is_exact(guess, word)


@pytest.mark.parametrize(("attempts", "shown"), [(0, 0), (1, 1), (2, 7), (3, 7)])
def test_no_image_is_shown_before_the_first_guess_one_before_the_second_and_then_all(attempts, shown):
    assert rules.images_shown(attempts, 7) == shown


def test_all_images_are_shown_when_the_turn_is_over_and_never_more_than_there_are():
    assert rules.images_shown(1, 7, is_finished=True) == 7
    assert rules.images_shown(1, 0) == 0


def played(number: int, *, guesses=("dog", "cat"), seconds=(6.0, 5.0), at_once=False) -> FinishedTurn:
    start = NOW + number * MINUTE
    return FinishedTurn(start, start + timedelta(seconds=sum(seconds)), tuple(guesses), tuple(seconds), at_once)


def a_person(turns: int = 50) -> list[FinishedTurn]:
    rng = Random(3)
    return [
        played(number, guesses=(f"word{number}", "cat"), seconds=(rng.uniform(3, 20), rng.uniform(2, 15)))
        for number in range(turns)
    ]


def test_a_person_breaks_no_rule():
    assert rules_broken(a_person()) == {}
    assert rules_broken([]) == {}


def test_ten_first_guesses_faster_than_reading_are_a_script_and_nine_are_not():
    fast = [played(number, guesses=(f"w{number}",), seconds=(1.2 + number / 100,)) for number in range(10)]
    assert TurnScriptRule.FAST in rules_broken(a_person(40) + fast)
    assert TurnScriptRule.FAST not in rules_broken(a_person(41) + fast[:9])


def test_guesses_that_all_take_the_same_time_are_a_script():
    rng = Random(1)
    even = [played(n, guesses=(f"w{n}",), seconds=(4 + rng.uniform(-0.2, 0.2),)) for n in range(30)]
    assert rules_broken(even) == {TurnScriptRule.STEADY: rules_broken(even)[TurnScriptRule.STEADY]}
    assert rules_broken(even[:29]) == {}


def test_who_nearly_always_knows_the_word_at_once_is_a_script():
    rng = Random(2)
    knows = [played(n, guesses=(f"w{n}",), seconds=(rng.uniform(3, 20),), at_once=n not in (3, 7)) for n in range(40)]
    assert set(rules_broken(knows)) == {TurnScriptRule.KNOWING}
    assert rules_broken([*knows[:39], played(50, seconds=(9.0, 4.0))]) == {}


def test_who_always_begins_with_the_same_word_is_a_script():
    rng = Random(4)
    same = [played(n, guesses=("Man " if n % 2 else f"w{n}",), seconds=(rng.uniform(3, 20),)) for n in range(20)]
    assert set(rules_broken(same)) == {TurnScriptRule.SAME}
    assert rules_broken(same[:18]) == {}


def test_six_hours_without_a_break_are_a_script():
    turns = a_person(10)
    assert set(rules_broken(turns, on_end_since=turns[-1].finished_at - timedelta(hours=6))) == {
        TurnScriptRule.TIRELESS
    }
    assert rules_broken(turns, on_end_since=turns[-1].finished_at - timedelta(hours=5, minutes=59)) == {}


@pytest.mark.django_db
def test_fast_turns_are_marked_one_by_one_and_the_player_for_the_pattern_once():
    player = make_player(make_season(items=12, batch_size=12))
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    for number in range(12):
        now = NOW + number * MINUTE
        turn = playing.open_turn(player_id=player.pk, user=player.user, now=now)
        pause = timedelta(seconds=1.1 if number < 10 else 30)
        playing.make_guess(turn_id=turn.pk, user=player.user, number=1, guess="cat", now=now + pause)
        check_players(now=now + MINUTE)
    assert Mark.objects.filter(rule=TurnScriptRule.FAST, turn__isnull=False).count() == 10
    assert list(Mark.objects.filter(turn=None).values_list("rule", "detail")) == [(TurnScriptRule.FAST, "10 / 10")]
    player.refresh_from_db()
    assert player.is_marked
    assert Turn.objects.filter(outcome="attempt_1").count() == 12
    assert player.total == 12_000_000


@pytest.mark.django_db
def test_who_has_not_played_since_is_not_looked_at_again():
    season = make_season()
    player = make_player(season)
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    turn = playing.open_turn(player_id=player.pk, user=player.user, now=NOW)
    playing.make_guess(turn_id=turn.pk, user=player.user, number=1, guess="cat", now=NOW + MINUTE)
    assert check_players(now=NOW) == 1
    assert check_players(now=NOW) == 0
    assert not Player.objects.get(pk=player.pk).is_marked


@pytest.mark.django_db
@pytest.mark.parametrize(("away", "is_marked"), [(0, False), (4, True), (6, False)])
def test_play_without_a_break_is_followed_back_over_its_turns_also_those_skipped(away, is_marked):
    """`away`: the longest minutes between two turns; what counts is a break of five."""
    season = make_season(items=0, ends_at=NOW + timedelta(days=1))
    player = make_player(season, turns=180)
    batch = GameBatch.objects.create(player=player, language_id="en", number=1, taken_at=NOW, signature="x")
    item, now = make_item(season.item_set, images=0), NOW
    for number in range(90):
        item.pk = None
        item.key = f"copy-{number}"
        item.save()
        opened_at, now = now, now + timedelta(minutes=2 if away else 3)
        outcome = "skipped" if number % 2 else "failed"
        about = {"opened_at": opened_at, "finished_at": now, "outcome": outcome, "position": number, "seed": 1}
        turn = Turn.objects.create(player=player, batch=batch, item=item, **about)
        guess = {"guess": f"word{number}", "similarity": 0, "score": 0, "has_vector": True}
        turn.attempts.create(number=1, made_at=opened_at + timedelta(seconds=10 + number), **guess)
        now += timedelta(minutes=away if number == 40 or away == 4 else 2 * bool(away))
    check_players(now=now)
    assert Mark.objects.filter(rule=TurnScriptRule.TIRELESS).exists() == is_marked
