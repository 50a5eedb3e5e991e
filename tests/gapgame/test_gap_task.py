"""The task for machines: parts that share nothing, baselines and scores computed by hand, refusals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedReason
from crosslens_metrics.word_vectors import TableWriter
from gapgame.rules.figures import TurnReason, UndefinedFigure
from gapgame.rules.task import BackOff, GapTaskError, nearest_word, random_words, verify_parts, words_before
from gapgame.rules.task_scores import FilledInstance, score
from gapgame.rules.turns import PlayedTurn
from tests.commands import output_of

NOUNS = 20


def corpus(file: Path, *, lines: int = 600, images: int = 10) -> Path:
    """Nouns of two senses each, and every sentence with two illustrated words."""
    rng = np.random.default_rng(4)
    written = []
    for number in range(lines):
        noun, sense = int(rng.integers(NOUNS)), "ab"[int(rng.integers(2))]
        synset = f"bn:{noun:04}{sense}"
        written.append(
            {
                "key": f"k{number}",
                "language": "en",
                "sentence": f"Sentence {number // 2} has ____ and more",
                "word": f"noun{noun}",
                "split": f"intersect_{4 if rng.random() < 0.7 else 2}",
                "sense": [synset],
                "images": [f"{synset}-{place}" for place in range(images)],
            }
        )
    file.write_text("".join(json.dumps(line) + "\n" for line in written))
    return file


def objects(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "task"
    output_of("build_gap_task", corpus(tmp_path / "corpus.jsonl"), made, "--valid", 60, "--test", 60)
    return made


def test_the_parts_share_no_sentence_image_or_instance_and_questions_hold_no_word(folder: Path) -> None:
    train, valid, test = (objects(folder / f"{part}.jsonl") for part in ("train", "valid", "test"))
    assert (len(valid), len(test)) == (60, 60)
    images = [{image for line in part for image in line["images"]} for part in (train, valid, test)]
    assert sum(map(len, images)) == len(set.union(*images))
    held_out = [*objects(folder / "valid.gold.jsonl"), *objects(folder / "test.gold.jsonl")]
    assert {line["split"] for line in held_out} == {"intersect_4"}
    assert not {line["item"] for line in train} & {line["item"] for line in held_out}
    # 10 images of a synset: one for each part held out, eight to train.
    assert {len(line["images"]) for line in train} == {8}
    assert {len(line["images"]) for line in [*valid, *test]} == {1}
    assert {frozenset(line) for line in objects(folder / "test.jsonl")} == {
        frozenset({"id", "language", "sentence", "image", "images"})
    }


@pytest.mark.long(reason="at least three others run each of its lines")
def test_each_instance_has_one_image_drawn_from_those_of_its_part(folder: Path) -> None:
    train = objects(folder / "train.jsonl")
    assert all(line["image"] in line["images"] for line in train)
    # Eight images each, drawn alike: with a hundred instances and more, every place comes.
    assert {line["images"].index(line["image"]) for line in train} == set(range(8))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_nouns_come_alike_often_however_frequent_they_are(tmp_path: Path) -> None:
    lines = objects(corpus(tmp_path / "corpus.jsonl", lines=2000))
    rare = [line for line in lines if line["word"] == "noun0"][:40]
    file = tmp_path / "uneven.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [x for x in lines if x["word"] != "noun0"] + rare))
    output_of("build_gap_task", file, tmp_path / "task", "--valid", 100, "--test", 200)
    words = Counter(line["word"] for line in objects(tmp_path / "task" / "test.gold.jsonl"))
    assert len(words) == NOUNS
    assert max(words.values()) < 4 * 200 / NOUNS


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus.jsonl")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        output_of("build_gap_task", source, tmp_path / name, "--valid", 30, "--test", 30, "--seed", seed)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    assert (tmp_path / "a" / "test.jsonl").read_bytes() != (tmp_path / "c" / "test.jsonl").read_bytes()


def test_a_folder_of_multisubs_is_a_corpus_whose_splits_may_be_numbers(tmp_path: Path) -> None:
    source = tmp_path / "monolingual"
    source.mkdir()
    sentences = "".join(f"0068646#{number}\tA cat sat number {number} .\n" for number in range(9))
    (source / "en.sents.tok").write_text(sentences)
    (source / "en.fragments").write_text("".join(f"0068646#{number}\t1\t2\tNN\tcat\tcat\tNN\n" for number in range(9)))
    rows = [f"0068646#{number}\tcat\t{'intersect_4' if number % 2 else 4}\tbn:1n\ta,b,c\n" for number in range(9)]
    (source / "en.items.tsv").write_text("".join(rows))
    output_of("build_gap_task", source, tmp_path / "task", "--valid", 2, "--test", 2)
    gold = [line for part in ("valid", "test") for line in objects(tmp_path / "task" / f"{part}.gold.jsonl")]
    assert [(line["split"], line["word"]) for line in gold] == [("intersect_4", "cat")] * 4


def test_training_begins_at_intersect_1_and_a_split_holds_those_above_it(tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    lines = objects(corpus(source))
    # Whole sentences, which have two lines each.
    lines = [line | {"split": f"intersect_{(0, 1, 4)[number // 2 % 3]}"} for number, line in enumerate(lines)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def splits(name: str, *options: str) -> tuple[set[str], set[str]]:
        folder = tmp_path / name
        output_of("build_gap_task", source, folder, "--valid", 20, "--test", 90, "--split", "intersect_1", *options)
        parts = [objects(folder / f"{part}.jsonl") for part in ("train", "test.gold")]
        trained, tested = ({line["split"] for line in part} for part in parts)
        return trained, tested

    upwards = {"intersect_1", "intersect_4"}
    assert splits("nested") == (upwards, upwards)
    assert splits("exact", "--exactly") == (upwards, {"intersect_1"})
    assert splits("all", "--train-split", "intersect_0") == (upwards | {"intersect_0"}, upwards)
    told = json.loads((tmp_path / "exact" / "manifest.json").read_text())
    assert told["dropped_from_training"]["below_split"] == 200
    assert (told["split"], told["exactly"], told["train_split"]) == ("intersect_1", True, "intersect_1")


def test_too_few_instances_are_told_with_how_many_there_are(tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus.jsonl", lines=50)
    with pytest.raises(CommandError, match=r"5000 instances, but only \d+ could be drawn"):
        output_of("build_gap_task", source, tmp_path / "task")
    few_images = corpus(tmp_path / "few.jsonl", images=2)
    with pytest.raises(CommandError, match="0 of these have images"):
        output_of("build_gap_task", few_images, tmp_path / "task", "--valid", 1, "--test", 1)
    options = ("--valid", 1, "--test", 1, "--split", "intersect_3", "--exactly")
    with pytest.raises(CommandError, match="0 of the corpus are in intersect_3"):
        output_of("build_gap_task", source, tmp_path / "task", *options)
    assert not (tmp_path / "task").exists()


@pytest.mark.parametrize("shared", ["sentence", "instance", "image"])
def test_verifying_finds_what_two_parts_share(shared: str) -> None:
    parts = {"train": [("s1", 1, ("i1",))], "test": [("s2", 2, ("i2",))]}
    assert verify_parts(parts)["images_disjoint"] == 2
    leaking = {"sentence": ("s2", 1, ("i1",)), "instance": ("s1", 2, ("i1",)), "image": ("s1", 1, ("i1", "i2"))}
    with pytest.raises(GapTaskError, match=f"share one of their {shared}s"):
        verify_parts({**parts, "train": [leaking[shared]]})


def test_the_n_gram_shortens_its_context_until_it_was_seen() -> None:
    asked = [words_before("the big red ", number=3), words_before("a red ", number=3), words_before("my ", number=3)]
    model = BackOff(asked)
    for before, word in (
        ("the big red ", "bus"), ("not red ", "car"), ("so red ", "car"), ("very big ", "dog"), ("a big ", "dog"),
        ("one big ", "dog"),
    ):  # fmt: skip
        model.learn(words_before(before, number=3), word)
    assert [model.predict(context) for context in asked] == ["bus", "car", "dog"]


def test_where_a_sentence_begins_is_no_context() -> None:
    asked = words_before("My ", number=4)
    model = BackOff([asked])
    for before, word in (("My ", "bus"), ("in my ", "car"), ("not my ", "car")):
        model.learn(words_before(before, number=4), word)
    assert asked == ("my",)
    assert model.predict(asked) == "car"


def test_equally_frequent_words_go_by_their_frequency_in_training_and_then_by_the_alphabet() -> None:
    asked = words_before("a ", number=1)
    model = BackOff([asked])
    for before, word in (("a ", "zoo"), ("a ", "ant"), ("the ", "zoo")):
        model.learn(words_before(before, number=1), word)
    assert model.predict(asked) == "zoo"
    model.learn(words_before("the ", number=1), "ant")
    assert model.predict(asked) == "ant"


def test_random_words_are_as_frequent_as_asked() -> None:
    training = Counter(common=9, rare=1)
    for by_frequency, expected in ((True, 0.9), (False, 0.5)):
        words = random_words(training, 4000, by_frequency=by_frequency, rng=np.random.default_rng(3))
        assert words.count("common") / 4000 == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("method", ["random", "frequency", "ngram"])
def test_each_baseline_answers_every_question(folder: Path, tmp_path: Path, method: str) -> None:
    predictions = tmp_path / "predictions.jsonl"
    output_of("gap_baselines", folder, "--method", method, "--output", predictions)
    scores = json.loads(output_of("score_gap_task", folder / "test.gold.jsonl", predictions, "--json"))
    assert scores["instances"] == 60
    assert scores["similarity"]["undefined"] == "no_vectors"


def with_images(tmp_path: Path, *, licence: str = "CC0 1.0") -> tuple[Path, Path, Path]:
    """A corpus, a folder with its images, and features in which images of one synset are near each other."""
    source, images = corpus(tmp_path / "corpus.jsonl"), tmp_path / "pictures"
    images.mkdir()
    names = sorted({name for line in objects(source) for name in line["images"]})
    lines = [{"file": name, "author": "Ada", "licence": licence} for name in names]
    (images / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rng, features = np.random.default_rng(2), {}
    centres = {synset: rng.normal(size=8) for synset in sorted({name.rpartition("-")[0][:-1] for name in names})}
    for name in names:
        (images / name).write_bytes(name.encode())
        features[name] = centres[name.rpartition("-")[0][:-1]] + rng.normal(size=8) / 20
    np.savez(tmp_path / "features.npz", allow_pickle=False, **features)
    return source, images, tmp_path / "features.npz"


def test_the_folder_has_the_images_used_their_features_and_how_to_evaluate(tmp_path: Path) -> None:
    source, images, features = with_images(tmp_path)
    folder, predictions = tmp_path / "task", tmp_path / "predictions.jsonl"
    sizes = ("--valid", 60, "--test", 60)
    output_of("build_gap_task", source, folder, *sizes, "--images", images, "--features", features)
    used = {line["image"] for part in ("train", "valid", "test") for line in objects(folder / f"{part}.jsonl")}
    listed = {line["id"]: line for line in objects(folder / "images.jsonl")}
    assert set(listed) == used
    assert {(line["author"], line["licence"]) for line in listed.values()} == {("Ada", "CC0 1.0")}
    assert all((folder / line["file"]).read_bytes() == name.encode() for name, line in listed.items())
    readme = (folder / "README.md").read_text()
    assert "| `test.jsonl` | 60 |" in readme
    assert f"CC0 1.0: {len(used)} images" in readme
    assert "score_gap_task . predictions.jsonl --part test" in readme
    images.rename(tmp_path / "gone")
    source.unlink()
    output_of("gap_baselines", folder, "--method", "image", "--output", predictions)
    scores = json.loads(output_of("score_gap_task", folder, predictions, "--part", "test", "--json"))
    # Features tell the nouns apart, so whoever looks at the image is right.
    assert (scores["instances"], scores["accuracy"]["percent"]) == (60, 100)


def test_images_without_a_licence_or_features_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    source, images, _features = with_images(tmp_path, licence="")
    sizes = ("--valid", 20, "--test", 20)
    with pytest.raises(CommandError, match="have no licence, so they cannot be copied: bn:0000a-1, "):
        output_of("build_gap_task", source, tmp_path / "task", *sizes, "--images", images)
    np.savez(tmp_path / "few.npz", other=np.ones(3))
    with pytest.raises(CommandError, match="have no features in this file: bn:0000a-1, "):
        output_of("build_gap_task", source, tmp_path / "task", *sizes, "--features", tmp_path / "few.npz")
    (images / "bn:0000a-1").unlink()
    with pytest.raises(CommandError, match="1 images are not in this folder: bn:0000a-1"):
        output_of("build_gap_task", source, tmp_path / "task", *sizes, "--images", images)
    assert not (tmp_path / "task").exists()


def test_an_older_folder_without_drawn_images_still_answers_and_scores(folder: Path, tmp_path: Path) -> None:
    names = ["train.jsonl", "valid.jsonl", "test.jsonl"]
    for name in names:
        lines = [{key: value for key, value in line.items() if key != "image"} for line in objects(folder / name)]
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    images = sorted({line["images"][0] for name in names for line in objects(folder / name)})
    np.savez(tmp_path / "features.npz", **dict(zip(images, np.eye(len(images)), strict=True)))
    options = ("--method", "image", "--features", tmp_path / "features.npz", "--output", tmp_path / "found.jsonl")
    output_of("gap_baselines", folder, *options)
    scores = json.loads(output_of("score_gap_task", folder / "test.gold.jsonl", tmp_path / "found.jsonl", "--json"))
    assert scores["instances"] == 60


def test_the_nearest_training_images_vote_for_the_word() -> None:
    training = np.array([[1, 0], [0.9, 0.1], [0, 1], [0, 2]], dtype=np.float32)
    words = [Counter(cat=1), Counter(dog=3, cat=1), Counter(sun=1), Counter(map=1, sun=1)]
    asked = np.array([[5, 0], [0, 1], [0.9, 0.1]], dtype=np.float32)
    # By hand: cat 1 + 1/4 against dog 3/4; sun 1 + 1/2; and of the one nearest alone, dog.
    assert nearest_word(training, words, asked, neighbours=2)[:2] == ["cat", "sun"]
    assert nearest_word(training, words, asked, neighbours=1) == ["cat", "sun", "dog"]


class Plane:
    """Word vectors in the plane."""

    signature = "plane"
    dimensions = 2
    of = {"cat": (1, 0), "dog": (0.6, 0.8), "anti": (-1, 0)}  # noqa: RUF012

    def vector(self, word: str) -> Any:
        raise NotImplementedError

    def vector_as_spelt(self, word: str) -> Any:
        return np.array(self.of[word], dtype=np.float32) if word in self.of else None

    def similarity(self, one: str, other: str) -> float | None:
        raise NotImplementedError


def test_scores_are_those_computed_by_hand() -> None:
    filled = [FilledInstance("", *words) for words in (("Cat", "cat"), ("cat", "dog"), ("cat", "anti"), ("emu", "emu"))]
    filled[0] = FilledInstance("", "cat", "cat")
    scores = score(filled, vectors=Plane())
    assert scores.accuracy.percent == 50
    assert scores.similarity.mean == pytest.approx((1 + 0.6 - 1 + 0) / 4)  # type: ignore[union-attr]
    assert scores.without_vector.as_json() == {"gold": 1, "predicted": 1, "either": 1}


def test_words_vary_with_all_their_instances() -> None:
    # Of four words with ten instances each, the machine knows two and nothing of the others.
    filled = [FilledInstance("", word, found) for word, found in zip("abcd", "abxx", strict=True) for _ in range(10)]
    scores = score(filled, vectors=None)
    assert (scores.words, scores.accuracy.percent) == (4, 50)
    assert scores.accuracy.interval.width < 35, "As if 40 instances were independent."
    over_words = scores.accuracy_over_words
    assert isinstance(over_words, Interval)
    assert over_words.width > 80
    assert over_words.design.words == "generalises to other words like these (jackknife with Student’s t)"
    alone = score(filled[:10], vectors=None)
    assert alone.accuracy_over_words == UndefinedFigure(UndefinedReason.NO_VARIATION)


def test_a_machine_is_set_beside_people_item_by_item() -> None:
    filled = [FilledInstance("a", "cat", "cat"), FilledInstance("b", "dog", "fox"), FilledInstance("c", "sun", "sun")]
    turns = [
        PlayedTurn("attempt_1", "intersect_4", "a", player="ann"),
        PlayedTurn("attempt_3", "intersect_4", "a", player="bob"),
        PlayedTurn("attempt_2", "intersect_4", "b", player="ann"),
        PlayedTurn("skipped", "intersect_4", "b", player="bob"),
    ]
    people = score(filled, vectors=None, turns=turns).people
    assert people is not None
    assert not isinstance(people, UndefinedFigure)
    assert (people.items, people.turns, people.machine_percent) == (2, 3, 50)
    assert people.people_percent == (25, 75, 100)
    assert [one.points for one in people.machine_minus_people] == [25, -25, -50]
    nobody = score(filled[2:], vectors=None, turns=turns).people
    assert nobody == UndefinedFigure(TurnReason.NO_COMMON_ITEMS)


def test_vectors_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    writer = TableWriter(tmp_path / "vectors", dimensions=2, language="en")
    for word in ("cat", "dog"):
        writer.add(word, Plane.of[word])
    writer.add("Paris", (1, 0))
    writer.finish()
    writer.close()
    (tmp_path / "gold.txt").write_text("cat\ncat\nparis\n")
    (tmp_path / "found.txt").write_text("cat\ndog\nparis\n")
    options = ("--vectors", tmp_path / "vectors", "--json")
    scores = json.loads(output_of("score_gap_task", tmp_path / "gold.txt", tmp_path / "found.txt", *options))
    # The published script has no vector for "paris" where only "Paris" is in the table.
    assert scores["similarity"]["mean"] == pytest.approx(1.6 / 3)
    assert scores["without_vector"] == {"gold": 1, "predicted": 1, "either": 1}
    assert scores["signature"].startswith("gap-task|v:4|vectors:")


@pytest.mark.parametrize(
    ("predictions", "says"),
    [
        ([("x", "a")], "ids without a prediction: y"),
        ([("x", "a"), ("y", "b"), ("z", "c")], "not in the gold file: z"),
        ([("x", "a"), ("x", "b"), ("y", "c")], "duplicate ids: x"),
        ([("x", "a"), ("y", "")], "line 2"),
    ],
)
def test_ids_that_do_not_fit_are_named(tmp_path: Path, predictions: list[tuple[str, str]], says: str) -> None:
    for name, pairs in (("gold", [("x", "a"), ("y", "b")]), ("found", predictions)):
        lines = [json.dumps({"id": one, "word": word}) for one, word in pairs]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    with pytest.raises(CommandError, match=says):
        output_of("score_gap_task", tmp_path / "gold.jsonl", tmp_path / "found.jsonl")


def test_the_published_layout_is_read(tmp_path: Path) -> None:
    (tmp_path / "sents.json").write_text(json.dumps([{"word": word} for word in ("Cat", "dog", "sun", "map")]))
    (tmp_path / "splits.json").write_text(json.dumps({"testSubset": [2, 0]}))
    (tmp_path / "words.txt").write_text("cat\nmap\n")
    options = ("--splits", tmp_path / "splits.json", "--json")
    scores = json.loads(output_of("score_gap_task", tmp_path / "sents.json", tmp_path / "words.txt", *options))
    assert (scores["instances"], scores["accuracy"]["percent"]) == (2, 50)
    with pytest.raises(CommandError, match="It has: testSubset"):
        output_of("score_gap_task", tmp_path / "sents.json", tmp_path / "words.txt", *options, "--part", "val")
    (tmp_path / "deep.json").write_text("[" * 50_000)
    with pytest.raises(CommandError, match=r"deep\.json: Not valid JSON \(nested too deeply\)"):
        output_of("score_gap_task", tmp_path / "deep.json", tmp_path / "words.txt", *options)
