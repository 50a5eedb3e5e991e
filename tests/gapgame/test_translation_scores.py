"""Lexical translation: ALI of the example in the method's description, by hand and by a plain loop, and refusals."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from gapgame.rules.figures import UndefinedFigure
from gapgame.rules.translation_scores import TranslatedInstance, score
from tests.commands import output_of

EXAMPLE: list[dict[str, Any]] = [
    {"word": "seal", "positives": ["selo", "sello"], "negatives": ["foca", "stamp"], "prediction": "selo"},
    {"word": "seal", "positives": ["foca"], "negatives": ["selo", "sello", "stamp"], "prediction": "selo"},
    {"word": "seal", "positives": ["foca"], "negatives": ["selo", "sello", "stamp"], "prediction": "rubbish"},
    {"word": "bank", "positives": ["banco", "banc"], "negatives": ["orilla"], "prediction": "banc"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


def write(file: Path, *lines: object) -> Path:
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return file


def scores_of(file: Path, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(output_of("score_lexical_translation", file, "--json", *options))
    return answer


def test_the_example_of_the_method_gives_one_half(file: Path) -> None:
    scores = scores_of(write(file, *EXAMPLE))

    assert (scores["ali"], scores["accuracy"], scores["instances"], scores["words"]) == (0.5, 0.5, 4, 2)
    assert scores["by_word"] == [
        {"word": "bank", "instances": 1, "ali": 1.0, "accuracy": 1.0},
        {"word": "seal", "instances": 3, "ali": 0.0, "accuracy": pytest.approx(1 / 3)},
    ]
    assert scores["ali_interval"] == {"low": 0.0, "high": 1.0}
    assert scores_of(file, "--seed", "7")["signature"]["seed"] == 7


def test_words_are_compared_in_small_letters_however_their_accents_are_written(file: Path) -> None:
    word = {"word": "Dome", "positives": ["Cúpula"], "negatives": ["domo"]}
    scores = scores_of(
        write(file, word | {"prediction": "cu\u0301pula"}, word | {"word": "dome", "prediction": " DOMO "})
    )

    assert (scores["ali"], scores["accuracy"], scores["words"]) == (0.0, 0.5, 1)


def test_one_source_word_shows_nothing_of_how_words_differ(file: Path) -> None:
    scores = scores_of(write(file, *EXAMPLE[:3]))

    assert scores["ali_interval"]["undefined"] == "no_variation"
    said = output_of("score_lexical_translation", file)
    assert "ALI (95% bootstrap interval over source words): 0.0000 [–: There is only one value" in said
    assert "  seal                     +0.0000 0.3333 3" in said


SENSES = st.sampled_from(["a", "b", "c", "d"])


@given(st.lists(st.tuples(st.sampled_from(["seal", "bank", "drill"]), SENSES, SENSES), min_size=1, max_size=30))
def test_figures_are_those_of_a_plain_loop(drawn: list[tuple[str, str, str]]) -> None:
    everything = frozenset("abc")
    translated = [
        TranslatedInstance(word, frozenset(right), everything - {right}, predicted) for word, right, predicted in drawn
    ]
    of_word = defaultdict(list)
    for word, right, predicted in drawn:
        of_word[word].append(1 if predicted == right else -1 if predicted in everything else 0)

    scores = score(translated)

    assert scores.ali == pytest.approx(mean(mean(counts) for counts in of_word.values()))
    assert scores.accuracy == pytest.approx(mean(right == predicted for _, right, predicted in drawn))
    if not isinstance(scores.ali_interval, UndefinedFigure):
        assert -1 <= scores.ali_interval.low < scores.ali_interval.high <= 1


RIGHT = EXAMPLE[0]
WRONG = [
    ({**RIGHT, "positives": []}, "“positives” is empty"),
    ({**RIGHT, "positives": "selo"}, "“positives” is not a list of words"),
    ({**RIGHT, "negatives": ["foca", " "]}, "“negatives” is not a list of words"),
    ({**RIGHT, "negatives": ["Selo"]}, "Among both “positives” and “negatives”: selo"),
    ({**RIGHT, "word": " "}, "word is empty"),
    ({name: value for name, value in RIGHT.items() if name != "prediction"}, "There is no “prediction”"),
    ({**RIGHT, "prediction": 3}, "prediction is not text"),
    (["seal"], "Not an object"),
]


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_line_that_cannot_be_scored_is_named(line: object, said: str, file: Path) -> None:
    with pytest.raises(CommandError, match="ine 2: ") as refused:
        output_of("score_lexical_translation", write(file, RIGHT, line, RIGHT))
    assert said in str(refused.value)


def test_a_model_that_predicts_nothing_for_a_word_gets_nothing_for_it(file: Path) -> None:
    assert scores_of(write(file, RIGHT | {"prediction": ""}, RIGHT))["ali"] == 0.5


def test_an_empty_file_is_refused(file: Path) -> None:
    with pytest.raises(CommandError, match="The file is empty"):
        output_of("score_lexical_translation", write(file))
