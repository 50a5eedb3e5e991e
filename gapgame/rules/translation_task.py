"""Lexical translation for machines: which words of the target language are right and wrong for an instance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gapgame.rules.translation_scores import compared_form


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
