"""Which illustrated words the game and the tasks can ask for, compared with what they read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.languages.rules.registry import LANGUAGES
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import LineError
from gapgame.formats.tasks import corpus_lines
from gapgame.rules import items
from parallel_text import publish
from parallel_text.publish import NO_GAP, REASONS, why_unplayable
from parallel_text.sentences import BadSentenceError, clean
from parallel_text.tagging import tokens

TRAITS = {language.tag: language for language in LANGUAGES}
WORDS = ("seal", "Seal", "ＳＥＡＬ", "seals", "rock", "Café", "e\u0301", "ﬁn", "fin", "1,000", "x" * 101)
BETWEEN = (" ", " ", " ", ".", "’s", "n't", "-", "_", "___", "\u0302", "\u202e", "\u2066", "\u200c", " and a rock" * 42)


def item_of(sentence: str, word: str, start: int):
    line = {"language": "en", "sentence": sentence, "word": word, "start": start, "split": "intersect_1"}
    return line | {"sense": ["02077923-n"], "images": ["a.jpg"], "key": "1"}


@given(st.lists(st.sampled_from(WORDS + BETWEEN), min_size=1, max_size=9).map("".join))
@example("A seal and a seal.")
@example("A seal ___.")
def test_words_are_those_that_the_import_of_the_game_takes(text):
    try:
        sentence = clean(text)
    except BadSentenceError:
        return
    for word, start in tokens(sentence):
        if not word[0].isalpha():
            continue
        why = why_unplayable(sentence, word, start, ["02077923-n"])
        try:
            items.item_line(item_of(sentence, word, start), languages=TRAITS)
        except LineError:
            assert why in REASONS
        else:
            assert why in ("", "joined")


def test_the_game_takes_a_sentence_once():
    assert why_unplayable("A seal.", "seal", 2, [], occurrence=2) == "same_sentence"
    with pytest.raises(LineError, match="cannot be asked for: same_sentence"):
        items.item_line(item_of("A seal.", "seal", 2) | {"unplayable": "same_sentence"}, languages=TRAITS)


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("A seal sleeps.", ""),
        ("A seal and a SEAL.", "repeated"),
        ("Seals see a seal.", ""),
        ("seal!", "alone"),
        ("A seal ____.", "blank"),
        ("A seal\u0302.", "joined"),
        ("A seal " + "and a rock " * 50, "long_sentence"),
        ("A seal \u202eabc.", "direction"),
    ],
)
def test_a_word_that_cannot_be_asked_for_says_why(sentence, why, tmp_path: Path):
    start = sentence.index("seal")
    assert why_unplayable(sentence, "seal", start, ["02077923-n"]) == why
    (tmp_path / "items.jsonl").write_text(json.dumps(item_of(sentence, "seal", start)))
    cut = list(corpus_lines(tmp_path / "items.jsonl", LineReader(tmp_path / "items.jsonl")))
    assert ([line.before for line in cut] == [sentence[:start]]) == (why not in NO_GAP)


def test_limits_are_those_of_the_game():
    limits = (publish.MAX_SENTENCE_CHARACTERS, publish.MAX_WORD_CHARACTERS, publish.MAX_SENSES)
    assert limits == (items.MAX_SENTENCE_CHARACTERS, items.MAX_WORD_CHARACTERS, items.MAX_SENSES)
    assert why_unplayable("A seal.", "seal", 2, ["02077923-n"] * 101) == "many_senses"
    assert why_unplayable(f"A {'x' * 101}.", "x" * 101, 2, []) == "long_word"
