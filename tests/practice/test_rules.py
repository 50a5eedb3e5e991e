"""What is right and what passes."""

from __future__ import annotations

import pytest

from office.practice.rules.grading import (
    BETTER,
    SIMILAR,
    fewest_right,
    is_better_left,
    is_passed,
    is_right_side,
    unmentioned_words,
)

pytestmark = pytest.mark.sqlite


@pytest.mark.parametrize(
    ("right", "total", "percent", "passed"), [(4, 5, 80, True), (3, 5, 80, False), (2, 3, 67, False), (0, 3, 1, False)]
)
def test_a_share_of_right_answers_passes(right, total, percent, passed):
    assert is_passed(right=right, total=total, pass_percent=percent) is passed
    assert (right >= fewest_right(total=total, pass_percent=percent)) is passed


@pytest.mark.parametrize(
    ("choice", "answer", "better_is_left", "right"),
    [(3, BETTER, True, True), (1, BETTER, True, True), (-1, BETTER, True, False), (-2, BETTER, False, True),
     (0, BETTER, True, False), (0, SIMILAR, True, True), (1, SIMILAR, True, False)],
)  # fmt: skip
def test_the_side_counts_and_not_how_much_better_it_is(choice, answer, better_is_left, right):
    assert is_right_side(choice, answer=answer, better_is_left=better_is_left) is right


def test_the_better_caption_is_on_either_side_about_as_often():
    left = sum(is_better_left(attempt, position) for attempt in range(40) for position in range(10))
    assert 160 < left < 240
    assert len({tuple(is_better_left(attempt, position) for position in range(10)) for attempt in range(40)}) > 30


@pytest.mark.parametrize(
    ("text", "missing"),
    [("A PUPPY in the snow", []), ("a dog", ["snow"]), ("", ["dog", "snow"]), ("Snow, and a Dog", [])],
)
def test_what_a_caption_does_not_mention_is_named(text, missing):
    assert unmentioned_words(text, "dog | puppy\nsnow\n\n | ", language="en", spaced=True) == missing


def test_words_are_found_however_they_are_encoded():
    assert unmentioned_words("Ein Ko\u0308nig", "k\u00f6nig", language="de", spaced=True) == []
