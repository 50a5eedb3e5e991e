"""Baselines on the folder of a task: predictions as JSON Lines, in the order of the questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gapgame.formats.tasks import GAP, objects_of
from gapgame.rules.baselines import BackOff, Context, Method, random_words, words_before
from gapgame.rules.play import normalised
from gapgame.rules.task import TRAIN
from tabular.downloads import json_line


def predict(folder: Path, part: str, *, method: Method, longest: int, seed: int) -> Iterator[str]:
    """Yield one line for each question of `part`; `longest` is the n of n-grams."""
    questions = list(objects_of(folder / f"{part}.jsonl"))
    contexts = [_before(question["sentence"], longest) for question in questions]
    model = BackOff(contexts)
    for line in objects_of(folder / f"{TRAIN}.jsonl"):
        context = _before(line["sentence"], longest) if method == Method.NGRAM else ()
        model.learn(context, normalised(line["word"]))
    words = _words(method, model, contexts, model.training, seed)
    for question, word in zip(questions, words, strict=True):
        yield json_line({"id": question["id"], "word": word})


def _before(sentence: str, longest: int) -> Context:
    return words_before(sentence.partition(GAP)[0], number=longest - 1)


def _words(method: Method, model: BackOff, contexts: list[Context], training: Counter[str], seed: int) -> list[str]:
    if method == Method.NGRAM:
        return [model.predict(context) for context in contexts]
    rng = np.random.default_rng(seed % 2**64)
    return random_words(training, len(contexts), by_frequency=method == Method.FREQUENCY, rng=rng)
