"""What the pages of a corpus show: its words, senses and sentences, with what was struck out and what players found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corpora.models import CorpusBuild, CorpusExclusion, ExclusionKind, StepState
from corpora.rules.played import PlayedSense, played
from corpora.selectors.corpus_folders import folder_of
from languages.models import Language
from parallel_text import looking
from parallel_text.aligned import AlignedText, aligned_sentence
from parallel_text.config import ENGLISH
from parallel_text.looking import CorpusImage, Instance, Rows, Sense, Translations, Word

IMAGES_OF_A_SENSE = 4
"""Shown on the page of a word; the page of the sense has all."""


@dataclass(frozen=True)
class InLanguage:
    """A language of a corpus, which the platform may not know."""

    tag: str
    name: str
    direction: str


@dataclass(frozen=True)
class SenseShown:
    """A sense with the words of each language, its first images, and rows of what players found in it."""

    sense: Sense
    lemmas: Sequence[tuple[InLanguage, Sequence[str]]]
    images: Sequence[CorpusImage]
    played: Sequence[PlayedSense]
    excluded: CorpusExclusion | None


@dataclass(frozen=True)
class WordShown:
    word: Word
    translations: Sequence[tuple[InLanguage, Translations]]
    senses: Sequence[SenseShown]
    played: Sequence[PlayedSense]
    excluded: CorpusExclusion | None


@dataclass(frozen=True)
class ImageShown:
    image: CorpusImage
    excluded: CorpusExclusion | None


@dataclass(frozen=True)
class NounShown:
    """A noun of a sentence: `number` is written at it and at its translations."""

    number: int
    noun: Instance
    translations: Sequence[tuple[InLanguage, str, str]]


@dataclass(frozen=True)
class SentenceShown:
    number: int
    texts: Sequence[tuple[InLanguage, AlignedText]]
    nouns: Sequence[NounShown]


def languages_of(tags: Iterable[str]) -> dict[str, InLanguage]:
    """Return names and directions; of a language that the platform does not know, the tag."""
    known = Language.objects.in_bulk(set(tags))
    return {
        tag: InLanguage(tag, known[tag].name, known[tag].direction) if tag in known else InLanguage(tag, tag, "auto")
        for tag in tags
    }


def is_being_built(build: CorpusBuild) -> bool:
    """Return whether steps run or wait, so that what is there is older than the settings."""
    return build.steps.filter(state__in=(StepState.WAITING, StepState.RUNNING)).exists()


def word_shown(build: CorpusBuild, lemma: str) -> WordShown | None:
    """Return a noun, or None if the corpus has no such noun.

    Raises
    ------
    NotBuiltError
    """
    folder = folder_of(build)
    word = looking.word(folder, lemma)
    if word is None:
        return None
    translations, senses = looking.translations(folder, lemma), looking.senses(folder, lemma)
    tags = {one.language for one in translations}.union(*(sense.lemmas for sense in senses))
    languages, found = languages_of(tags), played(build.pk, lemma)
    struck_out = {(one.kind, one.synset): one for one in build.exclusions.filter(word=lemma)}
    return WordShown(
        word=word,
        translations=[(languages[one.language], one) for one in translations],
        senses=[
            _sense(build, sense, languages, found, struck_out.get((ExclusionKind.SENSE, sense.synset)))
            for sense in senses
        ],
        played=[one for one in found if not one.synset],
        excluded=struck_out.get((ExclusionKind.WORD, "")),
    )


def images_shown(build: CorpusBuild, images: Sequence[CorpusImage]) -> list[ImageShown]:
    files = [image.file for image in images]
    struck_out = {one.image: one for one in build.exclusions.filter(kind=ExclusionKind.IMAGE, image__in=files)}
    return [ImageShown(image, struck_out.get(image.file)) for image in images]


def sentence_shown(build: CorpusBuild, number: int) -> SentenceShown | None:
    """Return a sentence in all its languages, or None if the corpus has no such sentence.

    Raises
    ------
    NotBuiltError
    """
    sentence = aligned_sentence(folder_of(build), number)
    if sentence is None:
        return None
    texts = [sentence.english, *sentence.translations]
    languages = languages_of([text.language for text in texts])
    return SentenceShown(
        number=number, texts=[(languages[text.language], text) for text in texts], nouns=nouns_shown(sentence.nouns)
    )


def nouns_shown(nouns: Sequence[Instance]) -> list[NounShown]:
    """Number nouns from 1, and name the languages of their translations."""
    languages = languages_of({one["language"] for noun in nouns for one in noun.translations})
    return [
        NounShown(number, noun, [(languages[one["language"]], one["word"], one["lemma"]) for one in noun.translations])
        for number, noun in enumerate(nouns, start=1)
    ]


def instances_of(build: CorpusBuild, lemma: str, *, synset: str, least_n: int) -> Rows[Instance]:
    return looking.instances(folder_of(build), lemma, synset=synset, least_n=least_n)


def _sense(
    build: CorpusBuild,
    sense: Sense,
    languages: Mapping[str, InLanguage],
    found: Sequence[PlayedSense],
    excluded: CorpusExclusion | None,
) -> SenseShown:
    # English first, as the word is.
    tags = sorted(sense.lemmas, key=lambda tag: (tag != ENGLISH, tag))
    return SenseShown(
        sense=sense,
        lemmas=[(languages[tag], sense.lemmas[tag]) for tag in tags],
        images=looking.images(folder_of(build), sense.synset)[:IMAGES_OF_A_SENSE] if sense.images else [],
        played=[one for one in found if one.synset == sense.synset],
        excluded=excluded,
    )
