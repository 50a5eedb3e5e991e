"""What a guess is worth, by the published rules: penalties, the best of three, an exact match."""

from __future__ import annotations

import pytest

from gapgame.rules import play as rules


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
