"""Lexical translation for machines: which words are right and wrong for an instance, and what a prediction scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from crosslens_metrics.hidden_characters import visible_text
from crosslens_metrics.reports.figures import ReportFigure
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.sampling.variance import ratio_bounds
from crosslens_metrics.signatures import Signature, references_digest
from crosslens_metrics.text import lower_case
from gapgame.rules.figures import UndefinedFigure, varied

METHOD = "lexical-translation"
VERSION = 2


@dataclass(frozen=True)
class TranslatedInstance:
    """One instance: the source word, the target words that fit, those that fit its other senses, and the prediction."""

    word: str
    positives: frozenset[str]
    negatives: frozenset[str]
    prediction: str


@dataclass(frozen=True)
class WordScores(ReportFigure):
    """Of the instances of one source word."""

    word: str
    instances: int
    ali: float
    accuracy: float


@dataclass(frozen=True)
class TranslationScores(ReportFigure):
    """`ali` from −1 to 1, `accuracy` from 0 to 1, each with its 95% interval over source words (jackknife)."""

    signature: Signature
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


def score(translated: Sequence[TranslatedInstance]) -> TranslationScores:
    """Compute the Ambiguous Lexical Index (ALI) and accuracy.

    An instance counts 1 for a prediction among the positives, −1 among the negatives, and 0 for anything else. ALI is
    the mean over source words of the mean over the instances of each; accuracy is the share of instances that count 1.

    Parameters
    ----------
    translated : sequence of Translated
        At least one; words in the form of `compared_form`.

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
    (ali_low,), (ali_high,) = ratio_bounds(index[:, None], np.ones((len(words), 1)), least=-1, most=1)
    (low,), (high,) = ratio_bounds(right[:, None], instances[:, None])
    return TranslationScores(
        signature=Signature.of(
            METHOD,
            {
                "v": VERSION,
                "instances": len(translated),
                "sample": references_digest(
                    [
                        [
                            f"= {one.word}",
                            *(f"+ {word}" for word in one.positives),
                            *(f"- {word}" for word in one.negatives),
                        ]
                        for one in translated
                    ]
                ),
            },
        ),
        instances=len(translated),
        words=len(words),
        ali=float(index.mean()),
        ali_interval=varied(float(ali_low), float(ali_high)),
        accuracy=float(hits.mean()),
        accuracy_interval=varied(float(low), float(high)),
        by_word=tuple(
            WordScores(str(word), int(number), float(ali), float(share))
            for word, number, ali, share in zip(words, instances, index, right / instances, strict=True)
        ),
    )


class SynonymRule(StrEnum):
    """What translations in the same sense count that are no spelling of the aligned lemma."""

    NEITHER = "neither"
    NEGATIVE = "negative"
    POSITIVE = "positive"


@dataclass(frozen=True)
class AcceptedWords:
    """Words in the form in which they are compared, in alphabetical order."""

    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    synonyms: tuple[str, ...]


@dataclass
class WordTranslations:
    """What a corpus knows about the translations of English words into one language."""

    language: str = ""
    spellings: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    """Of each English lemma, the spellings of each lemma of the target language in its dictionary."""
    senses: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Synsets that an English and a target lemma were found to share in any sentence."""

    def add_entry(self, english: str, lemma: str, forms: Iterable[str]) -> None:
        spellings = self.spellings.setdefault(compared_form(english), {}).setdefault(self._compared(lemma), set())
        spellings.update(map(self._compared, (lemma, *forms)))

    def add_sense(self, english: str, lemma: str, synsets: Iterable[str]) -> None:
        self.senses[compared_form(english), self._compared(lemma)].update(synsets)

    def accepted(
        self,
        english: str,
        lemma: str,
        word: str,
        synsets: Iterable[str],
        *,
        synonyms: SynonymRule = SynonymRule.NEITHER,
    ) -> AcceptedWords:
        """Return what a reader of the target language would accept and would not.

        Positive are all spellings of the aligned `lemma`, and the aligned `word`. Negative are those of all other
        lemmas in the dictionary of the English word that are no spelling of a positive one. A lemma that was found in
        one of the same `synsets` would be accepted too, but is not the lemma that was aligned: (ours) it counts
        neither, unless `synonyms` says otherwise.
        """
        english, lemma, wanted = compared_form(english), self._compared(lemma), set(synsets)
        entries = self.spellings.get(english, {})
        positives = {self._compared(word), lemma} | entries.get(lemma, set())
        same: set[str] = set()
        negatives: set[str] = set()
        for other, forms in entries.items():
            if other != lemma:
                (same if self.senses.get((english, other), set()) & wanted else negatives).update(forms)
        same -= positives
        negatives -= positives | same
        if synonyms == SynonymRule.POSITIVE:
            positives |= same
        elif synonyms == SynonymRule.NEGATIVE:
            negatives |= same
        return AcceptedWords(tuple(sorted(positives)), tuple(sorted(negatives)), tuple(sorted(same)))

    def _compared(self, word: str) -> str:
        return compared_form(word, language=self.language)


def synsets_of(synsets: Iterable[str], shared: Mapping[str, Iterable[str]], language: str) -> tuple[str, ...]:
    """Return the senses of an instance that its translation into `language` confirms, sorted."""
    return tuple(sorted(synset for synset in set(synsets) if language in shared.get(synset, ())))


class MostFrequent:
    """The translation that the training part most often has for a word; of equally frequent ones the first."""

    def __init__(self) -> None:
        self._of: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def learn(self, word: str, translation: str, *, language: str = "") -> None:
        self._of[compared_form(word)][compared_form(translation, language=language)] += 1

    def predict(self, word: str) -> str:
        """Return the translation, or an empty text for a word that was not learned."""
        counter = self._of.get(compared_form(word))
        return min(counter, key=lambda one: (-counter[one], one)) if counter else ""
