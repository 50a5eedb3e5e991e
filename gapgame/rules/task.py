"""Fill-in-the-blank for machines: which instances train, validate and test, with which images; and baselines."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.reports.figures import random_stream
from gapgame.rules.play import normalised_word
from gapgame.rules.turns import SPLITS

HELD_OUT_SPLIT, TRAIN_SPLIT = "intersect_4", "intersect_1"
"""intersect_0 is not disambiguated, and serves the game alone."""
TRAIN, VALID, TEST = "train", "valid", "test"
HELD_OUT = (VALID, TEST)
PARTS = (TRAIN, VALID, TEST)
MIN_IMAGES = 3
"""(ours) With fewer images, a sense cannot reserve one for each held-out part and leave one for training."""
MAX_GRAM_LENGTH = 9
NEIGHBOURS = 10
ROWS_AT_ONCE = 1_000
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_+")
Context = tuple[str, ...]


class WordInstance(NamedTuple):
    """One illustrated word of a sentence."""

    noun: str
    """The word as it is matched, with its language."""
    sense: tuple[str, ...]
    sentence: int
    """A number that two instances share exactly if their whole sentences are the same."""
    split: str
    images: tuple[str, ...]


class SplitChoice(NamedTuple):
    """Where the parts come from: a split holds those above it, unless `exactly` asks for `split` alone."""

    split: str = HELD_OUT_SPLIT
    exactly: bool = False
    train_split: str = TRAIN_SPLIT

    def holds_out(self, split: str) -> bool:
        return split == self.split or (not self.exactly and SPLITS.index(split) > SPLITS.index(self.split))

    def trains(self, split: str) -> bool:
        return SPLITS.index(split) >= SPLITS.index(self.train_split)


DEFAULT_SPLITS = SplitChoice()


class TooFewInstancesError(Exception):
    """`part` needs more instances than there are."""

    def __init__(self, part: str, wanted: int, drawn: int, eligible: int, of_split: int, split: str) -> None:
        self.part, self.wanted, self.drawn = part, wanted, drawn
        self.eligible, self.of_split, self.split = eligible, of_split, split
        super().__init__(f"{part}: {drawn} of {wanted}")


class GapTaskError(Exception):
    """The parts are invalid; the message says how."""


@dataclass(frozen=True)
class DrawnParts:
    """Which instances each part has, by index in ascending order; and which part each reserved image belongs to."""

    places: Mapping[str, tuple[int, ...]]
    reserved: Mapping[str, str]
    eligible: int
    dropped_for_split: int
    """Instances left out of training as their split is below that of training, and in no held-out part."""
    dropped_for_sentence: int
    """Instances left out of training as their sentence is in a held-out part."""
    dropped_for_images: int
    """Instances left out of training as all their images are reserved."""

    @property
    def counts(self) -> dict[str, int]:
        return {part: len(self.places[part]) for part in PARTS}

    def images(self, instance: WordInstance, part: str) -> tuple[str, ...]:
        return self.images_in(part, instance.images)

    def images_in(self, part: str, images: Iterable[str]) -> tuple[str, ...]:
        """Return those of `images` that `part` may use, in their order."""
        return tuple(image for image in images if self.reserved.get(image, TRAIN) == part)


def one_of(images: Sequence[str], rng: np.random.Generator) -> str:
    """Draw one of `images`, each as likely."""
    return images[int(rng.integers(len(images)))]


def draw_parts(
    instances: Sequence[WordInstance],
    *,
    sizes: Mapping[str, int],
    reserve_percent: int,
    seed: int,
    splits: SplitChoice = DEFAULT_SPLITS,
) -> DrawnParts:
    """Divide instances into parts, which come from `splits`.

    Nouns are drawn uniformly among those with instances left; each draw gives one instance of each of the noun's
    senses, until the part has its size.

    Raises TooFewInstancesError where validation or test cannot get its size.
    """
    of_split = [place for place, instance in enumerate(instances) if splits.holds_out(instance.split)]
    of_train = [place for place, instance in enumerate(instances) if splits.trains(instance.split)]
    used = (instances[place] for place in {*of_split, *of_train})
    reserved = _reserve(used, reserve_percent, random_stream(seed, "images"))
    drawn = DrawnParts({}, reserved, 0, 0, 0, 0)
    eligible = [place for place in of_split if all(drawn.images(instances[place], part) for part in HELD_OUT)]
    places: dict[str, tuple[int, ...]] = {}
    taken: set[int] = set()
    for part in HELD_OUT:
        chosen = _draw(instances, eligible, taken, sizes[part], random_stream(seed, part))
        if len(chosen) < sizes[part]:
            raise TooFewInstancesError(part, sizes[part], len(chosen), len(eligible), len(of_split), splits.split)
        places[part] = tuple(sorted(chosen))
        taken |= {instances[place].sentence for place in chosen}
    free = [place for place in of_train if instances[place].sentence not in taken]
    places[TRAIN] = tuple(place for place in free if drawn.images(instances[place], TRAIN))
    held_out = {place for part in HELD_OUT for place in places[part]}
    return DrawnParts(
        places=places,
        reserved=reserved,
        eligible=len(eligible),
        dropped_for_split=len(instances) - len(held_out.union(of_train)),
        dropped_for_sentence=len(of_train) - len(free) - len(held_out.intersection(of_train)),
        dropped_for_images=len(free) - len(places[TRAIN]),
    )


def _reserve(instances: Iterable[WordInstance], percent: int, rng: np.random.Generator) -> dict[str, str]:
    """Reserve images for held-out parts: `percent` of every synset's, at least one, for each part.

    An image of several synsets belongs to one part only, so it counts for all of them.
    """
    of_synset: dict[str, set[str]] = defaultdict(set)
    for sense, images in {(instance.sense, instance.images) for instance in instances}:
        for synset in sense:
            of_synset[synset].update(images)
    reserved: dict[str, str] = {}
    for synset in sorted(of_synset):
        candidates = sorted(of_synset[synset])
        if len(candidates) < MIN_IMAGES:
            continue
        wanted = max(1, round(len(candidates) * percent / 100))
        free = [image for image in candidates if image not in reserved]
        free = [free[place] for place in rng.permutation(len(free))]
        for part in HELD_OUT:
            have = sum(reserved.get(image) == part for image in candidates)
            lacking = min(max(0, wanted - have), max(0, len(free) - 1))
            reserved |= dict.fromkeys(free[:lacking], part)
            free = free[lacking:]
    return reserved


def _draw(
    instances: Sequence[WordInstance], eligible: Iterable[int], taken: set[int], size: int, rng: np.random.Generator
) -> list[int]:
    """Draw at most `size` indexes of instances whose sentences are not `taken`."""
    by_noun: dict[str, dict[tuple[str, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    for place in eligible:
        instance = instances[place]
        if instance.sentence not in taken:
            by_noun[instance.noun][instance.sense].append(place)
    nouns = sorted(by_noun)
    for noun in nouns:
        for places in by_noun[noun].values():
            rng.shuffle(places)
    chosen: list[int] = []
    while nouns and len(chosen) < size:
        at = int(rng.integers(len(nouns)))
        senses = by_noun[nouns[at]]
        for sense in sorted(senses):
            chosen.append(senses[sense].pop())
            if not senses[sense]:
                del senses[sense]
        if not senses:
            nouns[at] = nouns[-1]
            nouns.pop()
    return chosen[:size]


def verify_parts(parts: Mapping[str, Iterable[tuple[str, int, tuple[str, ...]]]]) -> dict[str, int]:
    """Check the parts as written, each of (sentence, index in the corpus, images).

    - returned: the checks by name, with how many of their things were looked at.

    Raises GapTaskError where two parts share an instance, a sentence or an image, or an instance has no image.
    """
    seen: dict[str, dict[object, str]] = {"instances": {}, "sentences": {}, "images": {}}
    for part, members in parts.items():
        for sentence, instance, images in members:
            if not images:
                raise GapTaskError(f"Instance {instance} of {part} has no image.")
            for kind, things in (("instances", [instance]), ("sentences", [sentence]), ("images", images)):
                for thing in things:
                    owner = seen[kind].setdefault(thing, part)
                    if owner != part:
                        raise GapTaskError(f"{owner} and {part} share one of their {kind}: {thing}.")
    return {f"{kind}_disjoint": len(things) for kind, things in seen.items()}


class BaselineMethod(StrEnum):
    RANDOM = "random"
    FREQUENCY = "frequency"
    NGRAM = "ngram"
    IMAGE = "image"


def words_before(text: str, *, number: int, language: str = "") -> Context:
    """Return the last `number` words and signs before a gap, folded as words are; fewer if the text is short.

    The beginning of a sentence is not part of the context.
    """
    return tuple(_TOKEN.findall(normalised_word(text, language=language))[-number:]) if number else ()


def random_words(training: Counter[str], number: int, *, by_frequency: bool, rng: np.random.Generator) -> list[str]:
    """Words of the training part at random, uniformly or by frequency."""
    words = sorted(training)
    weights = np.array([training[word] for word in words], dtype=float)
    p = weights / weights.sum() if by_frequency else None
    return [words[code] for code in rng.choice(len(words), size=number, p=p)]


class BackOff:
    """The word that most often filled a gap after the same words, with the longest context that was seen.

    Only contexts that the questions need are counted, so memory grows with the questions and not with the training
    part. Among equally frequent words, the one more frequent in all of the training part wins, then the first by code
    points.
    """

    def __init__(self, contexts: Iterable[Context]) -> None:
        self._after: dict[Context, Counter[str]] = {
            suffix: Counter() for context in contexts for suffix in suffixes(context)
        }
        self._after.setdefault((), Counter())

    def learn(self, context: Context, word: str) -> None:
        for suffix in suffixes(context):
            if (counter := self._after.get(suffix)) is not None:
                counter[word] += 1

    @property
    def training(self) -> Counter[str]:
        """Count how often each word filled a gap."""
        return self._after[()]

    def predict(self, context: Context) -> str:
        """Raises ValueError where nothing was learned."""
        for suffix in suffixes(context):
            if counter := self._after.get(suffix):
                return min(counter, key=lambda word: (-counter[word], -self.training[word], word))
        raise ValueError("No word was learned.")


def suffixes(context: Sequence[str]) -> list[Context]:
    """Yield the context and its shorter ends, down to the empty one."""
    return [tuple(context[start:]) for start in range(len(context) + 1)]


def nearest_word(
    training: NDArray[np.float32], words: Sequence[Counter[str]], asked: NDArray[np.float32], *, neighbours: int
) -> list[str]:
    """Return the word for which the nearest training images vote, by the cosine of their features.

    An image divides its one vote over the words of its training instances by how often each came. Of equal words the
    one more frequent in all of training wins, then the first by code points; of equally near images the first.

    - `training`: shape (n_training, dimensions).
    - `words`: length n_training: how often each word came with each training image.
    - `asked`: shape (n_asked, dimensions).
    - `neighbours`: at most as many training images vote.
    """
    total: Counter[str] = Counter()
    for counter in words:
        total.update(counter)
    near, answers = _directions(training), []
    for start in range(0, len(asked), ROWS_AT_ONCE):
        cosines = _directions(asked[start : start + ROWS_AT_ONCE]) @ near.T
        for row in np.argsort(-cosines, axis=1, kind="stable")[:, :neighbours]:
            votes: dict[str, float] = {}
            for image in row.tolist():
                share = 1 / words[image].total()
                for word, number in words[image].items():
                    votes[word] = votes.get(word, 0.0) + number * share
            answers.append(_most_votes(votes, total))
    return answers


def _most_votes(votes: dict[str, float], total: Counter[str]) -> str:
    return min(votes, key=lambda word: (-round(votes[word], 9), -total[word], word))


def _directions(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
