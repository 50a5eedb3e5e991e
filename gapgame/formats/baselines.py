"""Baselines on the folder of a task: predictions as JSON Lines, in the order of the questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gapgame.formats.task_folders import objects_of
from gapgame.formats.task_images import FEATURES, features_of, instances_of, rows_of
from gapgame.formats.tasks import GAP
from gapgame.rules.baselines import BackOff, BaselineMethod, Context, nearest_word, random_words, words_before
from gapgame.rules.play import normalised_word
from gapgame.rules.task import TRAIN
from tabular.downloads import json_line


def predict(
    folder: Path,
    part: str,
    *,
    method: BaselineMethod,
    longest: int,
    seed: int,
    features: Path | None = None,
    neighbours: int = 0,
) -> Iterator[str]:
    """Yield one line for each question of `part`; `longest` is the n of n-grams.

    `neighbours` training images vote by `features`, else by those in the folder.

    Raises
    ------
    FileProblemsError
        Where a file of the folder cannot be used, or an image has no features.
    """
    if method == BaselineMethod.IMAGE:
        yield from _by_image(folder, part, features or folder / FEATURES, neighbours)
        return
    questions = list(objects_of(folder / f"{part}.jsonl"))
    contexts = [_before(question, longest) for question in questions]
    model = BackOff(contexts)
    for line in objects_of(folder / f"{TRAIN}.jsonl"):
        context = _before(line, longest) if method == BaselineMethod.NGRAM else ()
        model.learn(context, _word(line))
    words = _words(method, model, contexts, model.training, seed)
    for question, word in zip(questions, words, strict=True):
        yield json_line({"id": question["id"], "word": word})


def _by_image(folder: Path, part: str, features: Path, neighbours: int) -> Iterator[str]:
    instances = instances_of(folder, (TRAIN, part))
    words: dict[str, Counter[str]] = {}
    for line in instances[TRAIN]:
        words.setdefault(line["image"], Counter())[_word(line)] += 1
    vectors = features_of(features)
    asked = rows_of([line["image"] for line in instances[part]], vectors, features)
    found = nearest_word(rows_of(list(words), vectors, features), list(words.values()), asked, neighbours=neighbours)
    for line, word in zip(instances[part], found, strict=True):
        yield json_line({"id": line["id"], "word": word})


def _before(line: Mapping[str, Any], longest: int) -> Context:
    before = line["sentence"].partition(GAP)[0]
    return words_before(before, number=longest - 1, language=line.get("language", ""))


def _word(line: Mapping[str, Any]) -> str:
    return normalised_word(line["word"], language=line.get("language", ""))


def _words(
    method: BaselineMethod, model: BackOff, contexts: list[Context], training: Counter[str], seed: int
) -> list[str]:
    if method == BaselineMethod.NGRAM:
        return [model.predict(context) for context in contexts]
    rng = np.random.default_rng(seed % 2**64)
    return random_words(training, len(contexts), by_frequency=method == BaselineMethod.FREQUENCY, rng=rng)
