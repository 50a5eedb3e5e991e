"""The folder of the lexical translation task, made from a corpus of parallel text: docs/game-files.md."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.reports.figures import random_stream
from gapgame.formats.task_folders import Object, objects_of, refused, sha256_of
from gapgame.formats.task_images import LISTED, Credits, credits_in
from gapgame.formats.tasks import TaskDrawing, write_task
from gapgame.rules.play import normalised_word
from gapgame.rules.task import TRAIN, WordInstance
from gapgame.rules.translation import MostFrequent, SynonymRule, WordTranslations, synsets_of
from gapgame.rules.turns import SPLITS
from tabular.downloads import json_line

VERSION = 1
SOURCE = "en"
MAX_IMAGES = 100
INSTANCE: Mapping[str, type] = {
    **dict.fromkeys(("id", "sentence", "word", "lemma"), str),
    **dict.fromkeys(("start", "n"), int),
    **dict.fromkeys(("translations", "shared"), dict),
    "synsets": list,
}
ENTRY = {"word": str, "language": str, "translations": list}
IMAGE = {"synset": str, "file": str}
INSTANCES, DICTIONARY = "instances.jsonl", "dictionary.jsonl"
FIELDS = {
    "id": "name of the instance",
    "language": "tag of the sentence",
    "translate_to": "tag of the target language",
    "sentence": "the sentence",
    "word": "the word to translate, as spelt there",
    "start": "where it begins, in characters from 0",
    "lemma": "its lemma, the source word of scores",
}
ANSWERS = {
    "positives": "words that are right: all spellings of the aligned lemma, in small letters",
    "negatives": "words that are wrong: other translations of the source word",
    "synonyms": "translations in the same sense that are no spelling of the aligned lemma",
    "translation": "what was aligned: lemma, word, and the sentence of the target language",
    "sense": "the synsets that the translation confirms",
    "split": "in how many languages the sense was confirmed",
    "item": "id of the instance in the corpus",
    "place": "number of the instance, from 0",
}


@dataclass
class _TaskCorpus:
    """What drawing and answers need of a corpus; recurring texts are kept once."""

    folder: Path
    language: str
    seed: int
    translations: WordTranslations
    images: dict[str, list[str]] = field(default_factory=dict)
    credits: Credits = field(default_factory=dict)
    drawn: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def images_of(self, sense: tuple[str, ...]) -> tuple[str, ...]:
        """Return the images of a sense, at most 100 of them, drawn by the seed."""
        if sense not in self.drawn:
            names = sorted({name for synset in sense for name in self.images.get(synset, ())})
            if len(names) > MAX_IMAGES:
                rng = random_stream(self.seed, " ".join(sense))
                names = [names[place] for place in sorted(rng.choice(len(names), MAX_IMAGES, replace=False).tolist())]
            self.drawn[sense] = tuple(names)
        return self.drawn[sense]

    def instances(self) -> Iterator[tuple[Object, tuple[str, ...]]]:
        """Yield the instances that the language confirms and that have an image, each with its synsets."""
        for value in _objects(self.folder / INSTANCES, INSTANCE):
            if self.language in value["translations"]:
                sense = synsets_of(value["synsets"], value["shared"], self.language)
                if sense and self.images_of(sense):
                    yield value, sense


def build_translation_task(
    corpus: Path, folder: Path, drawing: TaskDrawing, *, language: str, synonyms: SynonymRule
) -> Object:
    """Draw the parts for one target language and write them, and return the manifest; raises as `write_task`.

    Raises FileProblemsError where `corpus` is no folder of a corpus, or does not have the language.
    """
    read = _read(corpus, language, drawing.seed)
    return write_task(
        folder,
        drawing,
        instances=partial(_instances, read),
        questions=_questions(read, synonyms),
        whole=lambda question, _answer: normalised_word(question["sentence"]),
        credits=read.credits,
        facts=lambda: {
            "task": "lexical-translation",
            "version": VERSION,
            "language": language,
            "synonyms": str(synonyms),
            "corpus": {"sha256": {name: sha256_of(corpus / name) for name in (INSTANCES, DICTIONARY, LISTED)}},
        },
        readme={
            "title": f"Lexical translation, English to {language}",
            "what": "Translate `word` as it is used in `sentence`; the translation has to fit the sense it has there.",
            "fields": FIELDS,
            "answers": ANSWERS,
            "prediction": '{"id": "test-000001", "prediction": "selo"}',
            "command": "score_lexical_translation predictions.jsonl . --part test",
        },
    )


def most_frequent(folder: Path, part: str) -> Iterator[str]:
    """Yield a prediction for each question of `part`: the most frequent translation of its word in training."""
    model = MostFrequent()
    for line in objects_of(folder / f"{TRAIN}.jsonl"):
        model.learn(line["lemma"], line["translation"]["word"], language=line.get("translate_to", ""))
    for question in objects_of(folder / f"{part}.jsonl"):
        yield json_line({"id": question["id"], "prediction": model.predict(question["lemma"])})


def _read(folder: Path, language: str, seed: int) -> _TaskCorpus:
    corpus = _TaskCorpus(folder, language, seed, WordTranslations(language))
    languages = set()
    for entry in _objects(folder / DICTIONARY, ENTRY):
        languages.add(entry["language"])
        if entry["language"] == language:
            for translation in entry["translations"]:
                corpus.translations.add_entry(entry["word"], translation["lemma"], translation["words"])
    if language not in languages:
        text = _("The corpus has no translations into %(language)s. It has: %(known)s.")
        raise refused(folder / DICTIONARY, text % {"language": language, "known": ", ".join(sorted(languages))})
    images: defaultdict[str, list[str]] = defaultdict(list)
    for image in _objects(folder / LISTED, IMAGE):
        images[image["synset"]].append(image["file"])
        corpus.credits |= credits_in([image])
    if not images:
        raise refused(folder / LISTED, _("The corpus has no images. Build it again with a manifest of images."))
    corpus.images = dict(images)
    return corpus


def _instances(corpus: _TaskCorpus) -> list[WordInstance]:
    """Return what drawing needs, and learn which lemmas share a sense."""
    instances: list[WordInstance] = []
    sentences: dict[bytes, int] = {}
    kept: dict[Any, Any] = {}
    for value, sense in corpus.instances():
        noun: str = value["lemma"]
        corpus.translations.add_sense(noun, value["translations"][corpus.language]["lemma"], sense)
        whole = hashlib.sha256(normalised_word(value["sentence"]).encode()).digest()[:16]
        split = SPLITS[min(value["n"], len(SPLITS) - 1)]
        instances.append(
            WordInstance(
                kept.setdefault(noun, noun),
                kept.setdefault(sense, sense),
                sentences.setdefault(whole, len(sentences)),
                split,
                corpus.images_of(sense),
            )
        )
    return instances


def _questions(corpus: _TaskCorpus, synonyms: SynonymRule) -> Iterator[tuple[Object, Object, tuple[str, ...]]]:
    for value, sense in corpus.instances():
        translation = value["translations"][corpus.language]
        accepted = corpus.translations.accepted(
            value["lemma"], translation["lemma"], translation["word"], sense, synonyms=synonyms
        )
        question = {
            "language": SOURCE,
            "translate_to": corpus.language,
            **{name: value[name] for name in ("sentence", "word", "start", "lemma")},
        }
        answer = {
            "item": value["id"],
            "positives": list(accepted.positives),
            "negatives": list(accepted.negatives),
            "synonyms": list(accepted.synonyms),
            "translation": {name: translation[name] for name in ("lemma", "word", "sentence")},
            "sense": list(sense),
            "split": SPLITS[min(value["n"], len(SPLITS) - 1)],
        }
        yield question, answer, corpus.images_of(sense)


def _objects(file: Path, needed: Mapping[str, type]) -> Iterator[Object]:
    """Yield the objects of a file of a corpus, with values of the types `needed`."""
    if not file.is_file():
        raise refused(file, _("There is no such file. Give a folder that build_corpus has made."))
    with LineReader(file) as reader:
        for record in reader.records():
            with reader.line(record):
                value = record.value
                wrong = [name for name, kind in needed.items() if not isinstance(value.get(name), kind)]
                if wrong:
                    raise LineError(_("“%(name)s” is missing or of another kind.") % {"name": wrong[0]})
                if not reader.problems:
                    yield value
