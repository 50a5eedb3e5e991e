"""Scores of lexical translation: does a prediction fit the sense that a word has in its sentence?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosslens_metrics.clusters import ratio_bounds
from crosslens_metrics.hidden_characters import visible_text
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.figures import ReportFigure, random_stream
from crosslens_metrics.text import lower_case
from gapgame.rules.figures import UndefinedFigure, varied

METHOD = "lexical-translation"
VERSION = 1


@dataclass(frozen=True)
class TranslatedInstance:
    """One instance: the source word, the target words that fit, those that fit its other senses, and the prediction."""

    word: str
    positives: frozenset[str]
    negatives: frozenset[str]
    prediction: str


@dataclass(frozen=True)
class TranslationSignature(ReportFigure):
    method: str
    version: int
    seed: int
    resamples: int


@dataclass(frozen=True)
class WordScores(ReportFigure):
    """Of the instances of one source word."""

    word: str
    instances: int
    ali: float
    accuracy: float


@dataclass(frozen=True)
class TranslationScores(ReportFigure):
    """`ali` from −1 to 1, `accuracy` from 0 to 1, each with its 95% bootstrap interval over source words."""

    signature: TranslationSignature
    instances: int
    words: int
    ali: float
    ali_interval: Interval | UndefinedFigure
    accuracy: float
    accuracy_interval: Interval | UndefinedFigure
    by_word: tuple[WordScores, ...]


def compared_form(word: str, *, language: str = "") -> str:
    """The form in which words are compared: small letters of their language, NFC, single spaces."""
    return " ".join(lower_case(visible_text(word), language=language).split())


def score(translated: Sequence[TranslatedInstance], *, seed: int = 0, resamples: int = 1_000) -> TranslationScores:
    """Compute the Ambiguous Lexical Index (ALI) and accuracy.

    An instance counts 1 for a prediction among the positives, −1 among the negatives, and 0 for anything else. ALI is
    the mean over source words of the mean over the instances of each; accuracy is the share of instances that count 1.

    Parameters
    ----------
    translated : sequence of Translated
        At least one; words in the form of `compared_form`.
    seed, resamples : int
        Of the bootstrap over source words.

    Returns
    -------
    TranslationScores
        `by_word` in alphabetical order.

    References
    ----------
    Wang et al. (2022), MultiSubs: A Large-scale Multimodal and Multilingual Dataset.
    """
    words, of_word = np.unique([one.word for one in translated], return_inverse=True)
    hits = np.array([one.prediction in one.positives for one in translated], dtype=float)
    misses = np.array([one.prediction in one.negatives for one in translated], dtype=float)
    instances = np.bincount(of_word).astype(float)
    right = np.bincount(of_word, hits)
    index = np.bincount(of_word, hits - misses) / instances
    low, high = ratio_bounds(
        np.stack([index, right], 1),
        np.stack([np.ones_like(instances), instances], 1),
        resamples=resamples,
        rng=random_stream(seed, METHOD),
    )
    intervals = [varied(below, above) for below, above in zip(low.tolist(), high.tolist(), strict=True)]
    return TranslationScores(
        signature=TranslationSignature(METHOD, VERSION, seed, resamples),
        instances=len(translated),
        words=len(words),
        ali=float(index.mean()),
        ali_interval=intervals[0],
        accuracy=float(hits.mean()),
        accuracy_interval=intervals[1],
        by_word=tuple(
            WordScores(str(word), int(number), float(ali), float(share))
            for word, number, ali, share in zip(words, instances, index, right / instances, strict=True)
        ),
    )
