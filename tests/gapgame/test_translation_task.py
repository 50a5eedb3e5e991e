"""The lexical translation task: parts, right and wrong words, the baseline, and scores computed by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from gapgame.rules.figures import UndefinedFigure
from gapgame.rules.translation import (
    AcceptedWords,
    MostFrequent,
    SynonymRule,
    TranslatedInstance,
    WordTranslations,
    score,
)
from tests.commands import output_of

SEAL, STAMP, BANK = "02077923-n", "06796119-n", "08420278-n"
LEMMAS = {"foca": SEAL, "lobo marinho": SEAL, "selo": STAMP, "banco": BANK}
FORMS = {"foca": ["foca", "focas"], "lobo marinho": ["lobo marinho"], "selo": ["selo", "sello"], "banco": ["banco"]}


def write(file: Path, lines: Sequence[object]) -> Path:
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return file


def objects(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def instance(number: int, lemma: str, word: str, *, n: int = 4) -> dict[str, Any]:
    english = "bank" if lemma == "banco" else "seal"
    tags = ["pt", "es", "fr", "de"][:n]
    return {
        "id": f"{number:016x}-2",
        "sentence": f"Here {number // 2} a {english} waits.",
        "word": english,
        "lemma": english,
        "start": 7 + len(str(number // 2)),
        "languages": {"pt": lemma},
        "translations": {"pt": {"lemma": lemma, "word": word, "sentence": f"Aqui {word} espera."}},
        "synsets": [LEMMAS[lemma]],
        "n": n,
        "shared": {LEMMAS[lemma]: tags},
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two hundred instances of seal and bank, every sentence with two of them, with ten images a synset."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    rng, lemmas = np.random.default_rng(1), list(LEMMAS)
    lines = []
    for number in range(200):
        lemma = lemmas[int(rng.integers(len(lemmas)))]
        lines.append(instance(number, lemma, FORMS[lemma][0], n=4 if rng.random() < 0.7 else 1))
    write(folder / "instances.jsonl", lines)
    entries = [
        {"lemma": lemma, "share": 0.3, "words": dict.fromkeys(FORMS[lemma], 2)} for lemma in lemmas if lemma != "banco"
    ]
    write(
        folder / "dictionary.jsonl",
        [
            {"word": "seal", "language": "pt", "alignments": 9, "translations": entries},
            {
                "word": "bank",
                "language": "pt",
                "alignments": 9,
                "translations": [{"lemma": "banco", "share": 1.0, "words": {"banco": 9}}],
            },
            {"word": "bank", "language": "es", "alignments": 9, "translations": []},
        ],
    )
    images = [
        {"synset": synset, "file": f"{synset}-{number}.jpg", "licence": "CC0 1.0", "author": "Ada"}
        for synset in (SEAL, STAMP, BANK)
        for number in range(10)
    ]
    write(folder / "images.jsonl", images)
    return folder


SIZES = ("--language", "pt", "--valid", 20, "--test", 20)


def test_the_parts_share_nothing_and_questions_hold_no_translation(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    output_of("build_translation_task", corpus, folder, *SIZES)
    train, valid, test = parts = [objects(folder / f"{part}.jsonl") for part in ("train", "valid", "test")]
    assert (len(valid), len(test)) == (20, 20)
    for things in (
        [{line["sentence"] for line in part} for part in parts],
        [{image for line in part for image in line["images"]} for part in parts],
    ):
        assert sum(map(len, things)) == len(set.union(*things))
    assert all(line["image"] in line["images"] for part in parts for line in part)
    assert {len(line["images"]) for line in train} == {8}
    gold = objects(folder / "test.gold.jsonl")
    assert {line["split"] for line in gold} == {"intersect_4"}
    asked = {"id", "language", "translate_to", "sentence", "word", "start", "lemma", "image", "images"}
    assert {frozenset(line) for line in test} == {frozenset(asked)}
    assert "CC0 1.0" in (folder / "README.md").read_text(encoding="utf-8")
    output_of("build_translation_task", corpus, tmp_path / "again", *SIZES)
    again, other = tmp_path / "again", tmp_path / "other"
    assert all(file.read_bytes() == (again / file.name).read_bytes() for file in folder.iterdir())
    output_of("build_translation_task", corpus, other, *SIZES, "--seed", 1)
    assert (folder / "test.jsonl").read_bytes() != (other / "test.jsonl").read_bytes()


def test_the_most_frequent_translation_of_training_is_the_baseline(corpus: Path, tmp_path: Path) -> None:
    folder, predictions = tmp_path / "task", tmp_path / "predictions.jsonl"
    output_of("build_translation_task", corpus, folder, *SIZES)
    counted: dict[str, list[str]] = {"seal": [], "bank": []}
    for line in objects(folder / "train.jsonl"):
        counted[line["lemma"]].append(line["translation"]["word"])
    best = {word: max(sorted(set(found)), key=found.count) for word, found in counted.items()}
    output_of("translation_baselines", folder, "--output", predictions)
    test, found = objects(folder / "test.jsonl"), objects(predictions)
    assert [line["prediction"] for line in found] == [best[line["lemma"]] for line in test]
    scores = json.loads(output_of("score_lexical_translation", predictions, folder, "--split", "test", "--json"))
    gold = objects(folder / "test.gold.jsonl")
    hits = [one["prediction"] in line["positives"] for one, line in zip(found, gold, strict=True)]
    assert scores["accuracy"] == pytest.approx(np.mean(hits))
    assert (scores["instances"], scores["words"]) == (20, 2)


def task_of_the_example(folder: Path) -> Path:
    """Write the example of the protocol as a task."""
    folder.mkdir()
    lines: list[tuple[str, list[str], list[str]]] = [
        ("seal", ["selo", "sello"], ["foca", "stamp"]),
        ("seal", ["foca"], ["selo", "sello", "stamp"]),
        ("seal", ["foca"], ["selo"]),
        ("bank", ["banco", "banc"], []),
    ]
    write(folder / "test.jsonl", [{"id": f"t{n}", "lemma": line[0]} for n, line in enumerate(lines)])
    gold = [{"id": f"t{n}", "positives": right, "negatives": wrong} for n, (_word, right, wrong) in enumerate(lines)]
    write(folder / "test.gold.jsonl", gold)
    return folder


def test_the_example_gives_a_half_in_any_order_of_predictions(tmp_path: Path) -> None:
    folder, predictions = task_of_the_example(tmp_path / "task"), tmp_path / "predictions.jsonl"
    words = {"t3": "Banc", "t1": "selo", "t0": "selo", "t2": "rubbish"}
    write(predictions, [{"id": name, "prediction": word} for name, word in words.items()])
    scores = json.loads(output_of("score_lexical_translation", predictions, folder, "--json"))
    assert (scores["ali"], scores["accuracy"], scores["instances"], scores["words"]) == (0.5, 0.5, 4, 2)
    assert [(one["word"], one["ali"]) for one in scores["by_word"]] == [("bank", 1), ("seal", 0)]


def test_the_published_layout_is_read(tmp_path: Path) -> None:
    right = {"seal": [["selo", "Sello"], ["foca"], ["selo"]], "Bank": [["banco", "banc"]]}
    entries = [{"word": "Bank", "target": "x", "positiveTargets": ["x"]}]
    for word, lists in right.items():
        entries += [{"word": word, "target": words[0], "positiveTargets": words} for words in lists]
    known = {"seal": ["foca", "selo", "sello", "stamp"], "bank": ["banco", "banc"]}
    for name, value in {"sents": entries, "splits": {"testSubset": [1, 2, 3, 4]}, "dict": known}.items():
        (tmp_path / f"en-pt.{name}.json").write_text(json.dumps(value))
    gold, predictions = tmp_path / "en-pt.sents.json", tmp_path / "predictions.txt"
    predictions.write_text("selo\nselo\n\nBanc\n")
    options = ("--splits", tmp_path / "en-pt.splits.json", "--json")

    scores = json.loads(output_of("score_lexical_translation", predictions, gold, *options))
    # The example of the publication: 1, -1 and 0 for seal, 1 for bank.
    assert (scores["ali"], scores["accuracy"], scores["instances"], scores["words"]) == (0.5, 0.5, 4, 2)
    write(tmp_path / "by_id.jsonl", [{"id": place, "prediction": "sello"} for place in (4, 1, 2, 3)])
    by_id = json.loads(output_of("score_lexical_translation", tmp_path / "by_id.jsonl", gold, *options))
    assert [(one["word"], one["ali"]) for one in by_id["by_word"]] == [("bank", 0), ("seal", pytest.approx(-1 / 3))]
    with pytest.raises(CommandError, match="It has: testSubset"):
        output_of("score_lexical_translation", predictions, gold, *options, "--part", "val")
    predictions.write_text("selo\n" * 5)
    with pytest.raises(CommandError, match="4 answers and 5 words"):
        output_of("score_lexical_translation", predictions, gold, *options)
    with pytest.raises(CommandError, match=r"en-pt\.sents\.json is no folder.* give --splits too"):
        output_of("score_lexical_translation", predictions, gold)
    (tmp_path / "en-pt.dict.json").unlink()
    with pytest.raises(CommandError, match=r"en-pt\.dict\.json"):
        output_of("score_lexical_translation", predictions, gold, *options)


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["t0", "t1", "t2"], "ids without a prediction: t3"),
        (["t0", "t1", "t2", "t3", "t9"], "not in the gold file: t9"),
        (["t0", "t1", "t2", "t3", "t1"], "duplicate ids: t1"),
    ],
)
def test_ids_that_do_not_fit_are_named(tmp_path: Path, ids: list[str], says: str) -> None:
    write(tmp_path / "found.jsonl", [{"id": name, "prediction": "selo"} for name in ids])
    with pytest.raises(CommandError, match=says):
        output_of("score_lexical_translation", tmp_path / "found.jsonl", task_of_the_example(tmp_path / "task"))


def test_spellings_of_the_aligned_lemma_are_right_and_other_senses_wrong() -> None:
    known = WordTranslations()
    for lemma, synset in LEMMAS.items():
        known.add_entry("seal", lemma, FORMS[lemma])
        known.add_sense("seal", lemma, [synset])
    known.add_entry("seal", "focar", ["Focas", "focou"])
    aligned = known.accepted("Seal", "foca", "foquinha", [SEAL])
    assert aligned.positives == ("foca", "focas", "foquinha")
    # "focas" is a spelling of both; "lobo marinho" is another word for the same animal.
    assert aligned.negatives == ("banco", "focar", "focou", "sello", "selo")
    assert aligned.synonyms == ("lobo marinho",)
    strict = known.accepted("seal", "foca", "foca", [SEAL], synonyms=SynonymRule.NEGATIVE)
    assert "lobo marinho" in strict.negatives
    assert "lobo marinho" in known.accepted("seal", "foca", "foca", [SEAL], synonyms=SynonymRule.POSITIVE).positives
    assert known.accepted("new", "novo", "novas", [BANK]) == AcceptedWords(("novas", "novo"), (), ())


def test_a_word_that_was_not_learned_has_no_translation_and_equal_ones_go_by_the_alphabet() -> None:
    model = MostFrequent()
    for word in ("selo", "Foca", "foca", "selo"):
        model.learn("Seal", word)
    assert (model.predict("seal"), model.predict("bank")) == ("foca", "")


def test_a_corpus_that_does_not_fit_is_refused_with_the_file(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no translations into fr\. It has: es, pt"):
        output_of("build_translation_task", corpus, tmp_path / "task", "--language", "fr")
    with pytest.raises(CommandError, match="5000 instances, but only"):
        output_of("build_translation_task", corpus, tmp_path / "task", "--language", "pt")
    with (corpus / "instances.jsonl").open("a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(CommandError, match=r"instances\.jsonl, line 201: “sentence” is missing"):
        output_of("build_translation_task", corpus, tmp_path / "task", *SIZES)
    (corpus / "images.jsonl").unlink()
    with pytest.raises(CommandError, match=r"images\.jsonl: There is no such file"):
        output_of("build_translation_task", corpus, tmp_path / "task", *SIZES)
    assert not (tmp_path / "task").exists()


EXAMPLE: list[dict[str, Any]] = [
    {"word": "seal", "positives": ["selo", "sello"], "negatives": ["foca", "stamp"], "prediction": "selo"},
    {"word": "seal", "positives": ["foca"], "negatives": ["selo", "sello", "stamp"], "prediction": "selo"},
    {"word": "seal", "positives": ["foca"], "negatives": ["selo", "sello", "stamp"], "prediction": "rubbish"},
    {"word": "bank", "positives": ["banco", "banc"], "negatives": ["orilla"], "prediction": "banc"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


def scores_of(file: Path, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(output_of("score_lexical_translation", file, "--json", *options))
    return answer


def test_the_example_of_the_method_gives_one_half(file: Path) -> None:
    scores = scores_of(write(file, EXAMPLE))

    assert (scores["ali"], scores["accuracy"], scores["instances"], scores["words"]) == (0.5, 0.5, 4, 2)
    assert scores["by_word"] == [
        {"word": "bank", "instances": 1, "ali": 1.0, "accuracy": 1.0},
        {"word": "seal", "instances": 3, "ali": 0.0, "accuracy": pytest.approx(1 / 3)},
    ]
    for name, ends in (("ali", (-1, 1)), ("accuracy", (0, 1))):
        bounds = tuple(scores[f"{name}_interval"].values())
        assert bounds == pytest.approx(ends, abs=1e-6), "Two words that differ say nothing of others."
    assert scores["signature"].startswith("lexical-translation|v:2|instances:4|sample:")


def test_the_signature_is_of_the_instances_and_not_of_what_was_predicted(file: Path) -> None:
    own = scores_of(write(file, EXAMPLE))["signature"]
    guessed = [{**one, "prediction": "another"} for one in EXAMPLE]
    assert scores_of(write(file, guessed))["signature"] == own
    easier = [{**one, "negatives": []} for one in EXAMPLE]
    assert scores_of(write(file, easier))["signature"] != own


def test_words_that_are_all_right_are_no_certainty(file: Path) -> None:
    right = [{"word": word, "positives": ["a"], "negatives": [], "prediction": "a"} for word in ("x", "y", "z")]
    scores = scores_of(write(file, right))

    # Clopper and Pearson's lower bound of three successes of three is 0.025 ** (1 / 3) = 0.2924.
    assert scores["accuracy_interval"] == {"low": pytest.approx(0.2924, abs=1e-4), "high": 1}
    assert scores["ali_interval"] == {"low": pytest.approx(2 * 0.2924 - 1, abs=1e-4), "high": 1}


def test_words_are_compared_in_small_letters_however_their_accents_are_written(file: Path) -> None:
    word = {"word": "Dome", "positives": ["Cúpula"], "negatives": ["domo"]}
    scores = scores_of(
        write(file, [word | {"prediction": "cu\u0301pula"}, word | {"word": "dome", "prediction": " DOMO "}])
    )

    assert (scores["ali"], scores["accuracy"], scores["words"]) == (0.0, 0.5, 1)


def test_one_source_word_shows_nothing_of_how_words_differ(file: Path) -> None:
    scores = scores_of(write(file, EXAMPLE[:3]))

    assert scores["ali_interval"]["undefined"] == "no_variation"
    said = output_of("score_lexical_translation", file)
    assert "ALI (95% interval over source words: jackknife with Student’s t): 0.0000 [–: There is only one" in said
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
        output_of("score_lexical_translation", write(file, [RIGHT, line, RIGHT]))
    assert said in str(refused.value)


def test_a_model_that_predicts_nothing_for_a_word_gets_nothing_for_it(file: Path) -> None:
    assert scores_of(write(file, [RIGHT | {"prediction": ""}, RIGHT]))["ali"] == 0.5


def test_an_empty_file_is_refused(file: Path) -> None:
    with pytest.raises(CommandError, match="The file is empty"):
        output_of("score_lexical_translation", write(file, []))
