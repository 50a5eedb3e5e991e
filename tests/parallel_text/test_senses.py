"""Senses that languages share: against plain Python on random small corpora, and by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parallel_text import images, intersect, publish, senses
from parallel_text.config import Exclusions, ImageSettings
from parallel_text.problems import CorpusError
from parallel_text.statistics import CorpusStatistics, compute
from parallel_text.steps import StepWork
from tests.parallel_text.made import rows, run, work_with, write

LANGUAGES = ("de", "es", "fr")
LIST = pa.list_(pa.int32())

NOTHING: Mapping[int, str] = {}
LEMMAS = {"glasses": "glass"}
Words = dict[str, dict[str, list[str]]]
"""By language and word, the synsets."""


class Corpus:
    """The tables that earlier steps would have written. English nouns stand at position 1 of each sentence."""

    def __init__(
        self,
        folder: Path,
        inventory: Words,
        rows: list[tuple[str, dict[str, str]]],
        said: Mapping[int, str] = NOTHING,
        **settings: Any,
    ) -> None:
        """`rows` are English nouns, each with the word that it is aligned with in some languages.

        `said` are sentences with other words than "The", the noun and a number.
        """
        self.inventory, self.rows = inventory, rows
        for language in ("en", *LANGUAGES):
            lines = [f"{synset}\t{word}\n" for word, synsets in inventory[language].items() for synset in synsets]
            (folder / f"senses.{language}.tsv").write_text("".join(lines))
        self.work = work_with(folder, *LANGUAGES, **settings)
        numbers = range(len(rows))
        texts = [f"The {noun} {number}." for number, (noun, _aligned) in enumerate(rows)]
        texts = [said.get(number, text) for number, text in enumerate(texts)]
        times = [texts[: number + 1].count(text) for number, text in enumerate(texts)]
        write(
            self.work, "ingest/english/00000.parquet", {"sentence": list(numbers), "text": texts, "occurrence": times}
        )
        tokens = [["The", noun, str(number), "."] for number, (noun, _aligned) in enumerate(rows)]
        write(self.work, "candidates/tokens/00000.parquet", {"sentence": list(numbers), "words": tokens})
        write(
            self.work,
            "candidates/nouns.parquet",
            {
                "sentence": list(numbers),
                "position": pa.array([1] * len(rows), pa.int32()),
                "start": pa.array([4] * len(rows), pa.int32()),
                "word": [noun for noun, _aligned in rows],
                "lemma": [LEMMAS.get(noun, noun) for noun, _aligned in rows],
            },
        )
        entries = []
        for language in LANGUAGES:
            aligned = [
                (number, LEMMAS.get(noun, noun), words[language])
                for number, (noun, words) in enumerate(rows)
                if language in words
            ]
            if not aligned:
                continue
            pairs = [number for number, _noun, _word in aligned]
            write(
                self.work,
                f"ingest/pairs.{language}/00000.parquet",
                {"pair": pairs, "sentence": pairs, "text": [f"x {word}" for _number, _noun, word in aligned]},
            )
            write(
                self.work,
                f"align/{language}/00000.parquet",
                {
                    "pair": pairs,
                    "sentence": pairs,
                    "words": [["x", word.title()] for _number, _noun, word in aligned],
                    "english_positions": pa.array([[1]] * len(aligned), LIST),
                    "positions": pa.array([[1]] * len(aligned), LIST),
                },
            )
            entries += sorted({(language, noun, word) for _number, noun, word in aligned})
        columns = dict(zip(("language", "english", "word"), map(list, zip(*entries, strict=True)), strict=True))
        counted = {"alignments": [2] * len(entries), "total": [4] * len(entries), "share": [0.5] * len(entries)}
        kept = {"kept": [word != "rare" for word in columns["word"]]}
        write(self.work, "dictionary/entries.parquet", columns | {"lemma": columns["word"]} | counted | kept)

    def instances(self) -> list[dict[str, Any]]:
        senses.STEP.finish(self.work)
        self.work.folder.remove("intersect/")
        run(intersect.STEP, self.work)
        return rows(self.work, intersect.INSTANCES)

    def expected(self) -> dict[int, tuple[int, list[str], dict[str, list[str]]]]:
        """By sentence: n, the synsets, and the languages that share each, in plain Python."""
        answers = {}
        exclude = self.work.config.exclude
        for number, (noun, words) in enumerate(self.rows):
            english = {s for s in self.inventory["en"].get(noun, []) if (noun, s) not in exclude.senses}
            if noun in exclude.words or not english:
                continue
            shared: dict[str, list[str]] = {}
            for language in LANGUAGES:
                word = words.get(language, "rare")
                if word != "rare":
                    for synset in english & set(self.inventory[language].get(word, [])):
                        shared.setdefault(synset, []).append(language)
            n = max(map(len, shared.values()), default=0)
            synsets = [synset for synset, languages in shared.items() if len(languages) == n] if n else english
            answers[number] = (n, sorted(synsets), shared)
        return answers


SYNSETS = [f"0000000{number}-n" for number in range(6)]
WORDS = st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from(SYNSETS), min_size=1, unique=True))
ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.dictionaries(st.sampled_from(LANGUAGES), st.sampled_from([*"abcd", "rare"]))),
    max_size=12,
)


@pytest.mark.long(reason="at least three others run each of its lines")
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.fixed_dictionaries(dict.fromkeys(("en", *LANGUAGES), WORDS)), ROWS, st.booleans())
def test_instances_are_those_of_plain_python(tmp_path_factory, inventory, rows, is_struck_out):
    # Every inventory has a synset of English, or it would be refused; every language a word.
    inventory = {language: {"z": [SYNSETS[0]], **words} for language, words in inventory.items()}
    rows = [("z", dict.fromkeys(LANGUAGES, "z")), *rows]
    exclude = Exclusions(words=("b",), senses=(("a", SYNSETS[0]),)) if is_struck_out else Exclusions()
    corpus = Corpus(tmp_path_factory.mktemp("corpus"), inventory, rows, exclude=exclude)
    expected = corpus.expected()

    found = corpus.instances()

    assert [row["sentence"] for row in found] == sorted(expected)
    for row in found:
        n, synsets, shared = expected[row["sentence"]]
        assert (row["n"], row["synsets"]) == (n, synsets)
        assert {each["synset"]: each["languages"] for each in row["shared"]} == shared
        sharers = {language for synset in synsets for language in shared.get(synset, [])}
        assert {each["language"] for each in row["translations"] if each["shares"]} == sharers
        # intersect_(N+1) is a part of intersect_N, in instances and in the senses that are left.
        left = [{synset for synset, languages in shared.items() if len(languages) >= level} for level in range(1, 5)]
        assert all(more <= fewer for fewer, more in pairwise(left))


@pytest.fixture
def seals(tmp_path):
    animal, stamp, navy = "02077923-n", "04159545-n", "04159354-n"
    inventory = {
        "en": {"seal": [animal, stamp, navy], "rock": ["09416076-n"], "fun": []},
        "de": {"robbe": [animal], "siegel": [stamp, navy]},
        "es": {"foca": [animal], "sello": [stamp, navy]},
        "fr": {"phoque": [animal], "roche": ["09416076-n"]},
    }
    rows = [
        ("seal", {"de": "robbe", "es": "foca", "fr": "phoque"}),
        ("seal", {"de": "siegel", "es": "sello"}),
        ("seal", {"de": "siegel", "es": "foca"}),
        ("seal", {"de": "rare"}),
        ("rock", {"fr": "roche"}),
        ("fun", {"fr": "roche"}),
    ]
    (tmp_path / "pictures").mkdir()
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (tmp_path / "pictures" / name).write_bytes(b"x")
    lines = [
        {"synset": animal, "file": "a.jpg"},
        {"synset": "n02077923", "file": "b.jpg"},
        {"synset": navy, "file": "c.jpg"},
    ]
    manifest = [json.dumps(line | {"licence": "CC BY 4.0", "author": "Ada", "source": "made"}) for line in lines]
    (tmp_path / "images.jsonl").write_text("\n".join(manifest) + "\n")
    return lambda **settings: Corpus(tmp_path, inventory, rows, **settings)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_two_seals_are_told_apart_by_what_they_are_called_elsewhere(seals):
    found = seals().instances()
    assert [(row["sentence"], row["n"], row["synsets"]) for row in found] == [
        (0, 3, ["02077923-n"]),
        (1, 2, ["04159354-n", "04159545-n"]),
        (2, 1, ["02077923-n", "04159354-n", "04159545-n"]),
        (3, 0, ["02077923-n", "04159354-n", "04159545-n"]),
        (4, 1, ["09416076-n"]),
    ]
    assert found[0]["id"].endswith("-1")
    assert found[3]["translations"] == []


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_was_struck_out_is_gone_and_what_it_shared_counts_no_more(seals):
    exclude = Exclusions(words=("Rock",), senses=(("seal", "02077923-n"),))
    assert [(row["sentence"], row["n"], row["synsets"]) for row in seals(exclude=exclude).instances()] == [
        (0, 0, ["04159354-n", "04159545-n"]),
        (1, 2, ["04159354-n", "04159545-n"]),
        (2, 1, ["04159354-n", "04159545-n"]),
        (3, 0, ["04159354-n", "04159545-n"]),
    ]


def published(work: StepWork) -> CorpusStatistics:
    images.STEP.finish(work)
    for chunk in publish.STEP.chunks(work):
        publish.STEP.run_chunk(work, chunk)
    for name in publish.BEFORE:
        record = {"step": name, "version": 1, "fingerprint": "", "seconds": 0.0}
        record |= {"settings": {}, "files": {}, "tools": {}, "counts": {}, "problems": []}
        with work.folder.writing(f"steps/{name}.json") as path:
            path.write_text(json.dumps(record))
    publish.STEP.finish(work)
    return compute(work)


def lines_of(work: StepWork, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in work.folder.read(name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_files_and_statistics_say_what_the_corpus_has(seals):
    corpus = seals(images=ImageSettings(manifest="images.jsonl", folder="pictures"))
    corpus.instances()
    statistics = published(corpus.work)

    first, *others = lines_of(corpus.work, "instances.jsonl")
    assert len(others) == 3, "the rock has no image"
    assert first == {
        "id": first["id"],
        "sentence": "The seal 0.",
        "word": "seal",
        "lemma": "seal",
        "start": 4,
        "languages": {"de": "robbe", "es": "foca", "fr": "phoque"},
        "translations": {
            "de": {"lemma": "robbe", "word": "Robbe", "sentence": "x robbe"},
            "es": {"lemma": "foca", "word": "Foca", "sentence": "x foca"},
            "fr": {"lemma": "phoque", "word": "Phoque", "sentence": "x phoque"},
        },
        "synsets": ["02077923-n"],
        "n": 3,
        "shared": {"02077923-n": ["de", "es", "fr"]},
    }
    item = lines_of(corpus.work, "items.jsonl")[0]
    assert (item["split"], item["sense"], item["key"]) == ("intersect_3", ["02077923-n"], first["id"])
    assert [image["file"] for image in item["images"]] == ["a.jpg", "b.jpg"]
    assert item["images"][0]["licence"] == "CC BY 4.0"
    german = next(line for line in lines_of(corpus.work, "dictionary.jsonl") if line["language"] == "de")
    assert (german["word"], german["alignments"]) == ("seal", 4)
    assert german["translations"][0] == {"lemma": "robbe", "share": 0.5, "words": {"robbe": 2}}
    assert [line["file"] for line in lines_of(corpus.work, "images.jsonl")] == ["a.jpg", "b.jpg", "c.jpg"]

    assert statistics.sentences == {"en": [3, 2, 1], "de": [3, 2, 1], "es": [3, 2, 1], "fr": [1, 1, 1]}
    assert [(each.n, each.instances, each.one_sense) for each in statistics.senses] == [
        (0, 4, 0),
        (1, 3, 1),
        (2, 2, 1),
        (3, 1, 1),
    ]
    english, french = [side for side in statistics.sides if side.language == "fr"]
    assert (english.sentences, english.tokens, english.types, english.singletons) == (1, 4, 4, 1)
    assert (french.tokens, french.mean_length) == (2, 2.0)
    # The fourth seal is in intersect_0 alone.
    assert (statistics.words_per_sentence, statistics.images_per_synset) == ({1: 3}, {1: 1, 2: 1})
    assert statistics.words_by_language == {"de": {1: 3}, "es": {1: 3}, "fr": {1: 1}}
    assert (statistics.mean_images_per_synset, statistics.median_images_per_synset) == (1.5, 1.5)
    told = json.loads(corpus.work.folder.read("statistics.json").read_text())
    assert CorpusStatistics.from_json(told) == statistics
    assert set(told["made_by"]) == set(publish.BEFORE)


def test_an_english_word_is_looked_up_as_it_is_spelt_and_by_its_lemma(tmp_path):
    tumbler, spectacles = "03438257-n", "04272054-n"
    inventory = {
        "en": {"glass": [tumbler], "glasses": [spectacles]},
        "de": {"brille": [spectacles], "glas": [tumbler]},
        "es": {"gafas": [spectacles], "vaso": [tumbler]},
        "fr": {"verre": [tumbler]},
    }
    rows = [
        ("glasses", {"de": "brille", "es": "gafas"}),
        ("glasses", {"es": "vaso", "fr": "verre"}),
        ("glass", {"es": "gafas"}),
        ("glasses", {}),
    ]

    found = Corpus(tmp_path, inventory, rows).instances()

    assert [(row["lemma"], row["n"], row["synsets"]) for row in found] == [
        ("glass", 2, [spectacles]),
        ("glass", 2, [tumbler]),
        ("glass", 0, [tumbler]),
        ("glass", 0, [tumbler, spectacles]),
    ]


def test_statistics_count_occurrences_in_intersect_1_and_images_that_illustrate_something(tmp_path):
    animal, stamp, egg = "02077923-n", "04159545-n", "07840804-n"
    inventory = {
        "en": {"seal": [animal, stamp], "egg": [egg]},
        "de": {"robbe": [animal]},
        "es": {"foca": [animal]},
        "fr": {"phoque": [animal]},
    }
    rows = [("seal", {"de": "robbe", "es": "foca"}), ("seal", {"es": "foca"}), ("seal", {}), ("seal", {"es": "foca"})]
    said = {0: "The seal swims.", 1: "The seal swims.", 2: "The seal barks.", 3: "The seal sleeps."}
    files = [(animal, "a.jpg"), (animal, "b.jpg"), (stamp, "c.jpg"), (egg, "d.jpg")]
    about = {"licence": "CC0", "author": "Ada", "source": "made"}
    lines = [json.dumps({"synset": synset, "file": file} | about) for synset, file in files]
    (tmp_path / "images.jsonl").write_text("\n".join(lines))
    corpus = Corpus(tmp_path, inventory, rows, said, images=ImageSettings(manifest="images.jsonl"))

    ids = [row["id"] for row in corpus.instances()]
    statistics = published(corpus.work)

    assert len({*ids}) == 4
    assert ids[1] == f"{ids[0]}-2"
    # Three of four sentences are in intersect_1, two of them with the same text. No seal there is a stamp, and no egg
    # is in the corpus.
    assert statistics.sentences == {"en": [3, 1, 0], "de": [1, 1, 0], "es": [3, 1, 0], "fr": [0, 0, 0]}
    english, spanish = [side for side in statistics.sides if side.language == "es"]
    assert (english.sentences, english.tokens, english.types, english.singletons) == (3, 12, 6, 1)
    assert (spanish.sentences, spanish.singletons) == (3, 0)
    assert statistics.words_per_sentence == {1: 3}
    assert statistics.words_by_language == {"de": {1: 1}, "es": {1: 3}, "fr": {}}
    assert statistics.images_per_synset == {2: 1}
    # No player meets a sentence twice; tasks for machines take both.
    items = lines_of(corpus.work, "items.jsonl")
    assert [item.get("unplayable") for item in items] == [None, "same_sentence", None, None]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_words_that_no_game_can_ask_for_are_marked_and_counted(seals):
    said = {0: "The seal saw a seal.", 1: "The seal ____.", 2: "The seal " + "slept and " * 60, 3: "The seal!"}
    corpus = seals(said=said, images=ImageSettings(manifest="images.jsonl", folder="pictures"))
    corpus.instances()
    published(corpus.work)
    items = lines_of(corpus.work, "items.jsonl")
    assert [(item["sentence"][:10], item.get("unplayable")) for item in items] == [
        ("The seal s", "repeated"),
        ("The seal s", "long_sentence"),
        ("The seal!", None),
    ]
    assert len(lines_of(corpus.work, "instances.jsonl")) == 4
    report = publish.STEP.finish(corpus.work)
    assert report.counts["items"] == {"playable": 1, "blank": 1, "long_sentence": 1, "repeated": 1}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_corpus_is_published_in_the_same_bytes(seals):
    corpus = seals(images=ImageSettings(manifest="images.jsonl", folder="pictures"))
    corpus.instances()
    published(corpus.work)
    first = {name: corpus.work.folder.read(name).read_bytes() for name in publish.PUBLISHED}
    corpus.instances()
    published(corpus.work)
    assert {name: corpus.work.folder.read(name).read_bytes() for name in publish.PUBLISHED} == first


def test_an_item_has_at_most_100_images_drawn_by_the_seed():
    files = [f"{number:03}.jpg" for number in range(150)]
    one, other = publish._drawn(files, "k", 1), publish._drawn(random.Random(1).sample(files, 150), "k", 1)
    assert one == other == sorted(one)
    assert len(one) == publish.MAX_IMAGES
    assert one != publish._drawn(files, "k", 2)


def test_an_inventory_without_a_synset_of_the_english_one_is_refused(seals, tmp_path):
    corpus = seals()
    (tmp_path / "senses.es.tsv").write_text("bn:00016606n\tfoca\n")
    with pytest.raises(CorpusError, match=r"es\.tsv has no synset in common with the English inventory"):
        corpus.instances()
