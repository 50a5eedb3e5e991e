"""Scores of predictions at fill-in-the-blank, alone and beside people on the same items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.reports.figures import ReportFigure
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval, mean_interval
from crosslens_metrics.sampling.variance import ratio_bounds
from crosslens_metrics.signatures import Signature, sample_digest
from crosslens_metrics.word_vectors import WordVectorSource
from gapgame.rules.figures import (
    TurnMean,
    TurnReason,
    TurnShare,
    UndefinedFigure,
    share_of_turns,
    value_or_reason,
    varied,
)
from gapgame.rules.play import ATTEMPTS, is_exact
from gapgame.rules.turns import SOLVED, FilteredTurns, PlayedTurn, filtered_turns

METHOD = "gap-task"
VERSION = 4


@dataclass(frozen=True)
class WithoutVector(ReportFigure):
    """Instances whose similarity is 0 because a word has no vector; `either` counts each of them once."""

    gold: int
    predicted: int
    either: int


@dataclass(frozen=True)
class MeanDifference(ReportFigure):
    """The mean over items, in percentage points, with the 95% interval over words with all their items (jackknife)."""

    points: float
    interval: Interval | UndefinedFigure


@dataclass(frozen=True)
class BesidePeople(ReportFigure):
    """On the items that both have: how many the machine fills, and what share of people, item by item.

    `people_percent` is the mean over items of the share of people who had found the word by attempt 1, 2, 3.
    """

    items: int
    turns: int
    filters: tuple[FilteredTurns, ...]
    machine_percent: float
    people_percent: tuple[float, ...]
    machine_minus_people: tuple[MeanDifference, ...]


@dataclass(frozen=True)
class TaskScores(ReportFigure):
    signature: Signature
    instances: int
    words: int
    accuracy: TurnShare
    accuracy_over_words: Interval | UndefinedFigure
    """In percent, over words with all their instances, which are alike. `accuracy` takes instances as independent."""
    similarity: TurnMean | UndefinedFigure
    similarity_over_words: Interval | UndefinedFigure
    without_vector: WithoutVector | UndefinedFigure
    people: BesidePeople | UndefinedFigure | None
    """None if no turns were given."""


@dataclass(frozen=True)
class FilledInstance:
    """One instance with its prediction; `item` and `language` are empty if unknown."""

    item: str
    word: str
    predicted: str
    language: str = ""


def score(
    filled: Sequence[FilledInstance],
    *,
    vectors: WordVectorSource | None,
    turns: Sequence[PlayedTurn] | None = None,
    keep: Collection[str] = (),
) -> TaskScores:
    """Compute accuracy and mean similarity of predictions, and how they compare with people."""
    correct = np.array([is_exact(one.predicted, one.word, language=one.language) for one in filled], dtype=float)
    words = [one.word for one in filled]
    independent = UndefinedFigure(TurnReason.NO_PLAYERS)
    similarity: TurnMean | UndefinedFigure = UndefinedFigure(TurnReason.NO_VECTORS)
    similarity_over_words: Interval | UndefinedFigure = UndefinedFigure(TurnReason.NO_VECTORS)
    without: WithoutVector | UndefinedFigure = UndefinedFigure(TurnReason.NO_VECTORS)
    if vectors is not None:
        values, without = similarities(filled, vectors)
        interval = value_or_reason(
            lambda: mean_interval(float(values.sum()), float(np.square(values).sum()), len(values))
        )
        similarity = TurnMean(len(values), float(values.mean()), interval, independent)
        similarity_over_words = _over_words(values, words, least=-1, unit=1)
    people = None
    if turns is not None:
        people = _beside_people(filled, correct, turns, keep)
    return TaskScores(
        signature=Signature.of(
            METHOD,
            {
                "v": VERSION,
                "vectors": vectors.signature if vectors else None,
                "instances": len(filled),
                "sample": sample_digest([f"{one.language} {one.item} {one.word}" for one in filled]),
            },
        ),
        instances=len(filled),
        words=len(set(words)),
        accuracy=share_of_turns(int(correct.sum()), len(filled), independent),
        accuracy_over_words=_over_words(correct, words, least=0, unit=100),
        similarity=similarity,
        similarity_over_words=similarity_over_words,
        without_vector=without,
        people=people,
    )


def _over_words(
    values: NDArray[np.float64], words: Sequence[str], *, least: float, unit: float
) -> Interval | UndefinedFigure:
    """The 95% interval of the mean of values from `least` to 1 over words, in this unit."""
    of_word = np.unique(words, return_inverse=True)[1]
    (low,), (high,) = ratio_bounds(
        np.bincount(of_word, values)[:, None], np.bincount(of_word)[:, None], least=least, most=1
    )
    design = SamplingDesign(Method.JACKKNIFE, {Factor.WORD: len(set(words))})
    return varied(unit * float(low), unit * float(high), design)


def similarities(
    filled: Sequence[FilledInstance], vectors: WordVectorSource
) -> tuple[NDArray[np.float64], WithoutVector]:
    """Return the cosine of each pair of words, from −1 to 1 as published.

    It is 0 if one of them, spelt as it is, has no vector; even for equal words.
    """
    unknown_gold = unknown_predicted = unknown = 0
    values = np.zeros(len(filled))
    for place, one in enumerate(filled):
        gold, predicted = vectors.vector_as_spelt(one.word), vectors.vector_as_spelt(one.predicted)
        unknown_gold += gold is None
        unknown_predicted += predicted is None
        if gold is None or predicted is None:
            unknown += 1
            continue
        values[place] = _cosine(gold, predicted)
    return values, WithoutVector(unknown_gold, unknown_predicted, unknown)


def _cosine(one: ArrayLike, other: ArrayLike) -> float:
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def _beside_people(
    filled: Sequence[FilledInstance],
    correct: NDArray[np.float64],
    turns: Sequence[PlayedTurn],
    keep: Collection[str],
) -> BesidePeople | UndefinedFigure:
    counts, filters = filtered_turns(turns, keep=keep)
    attempts: dict[str, list[int]] = {}
    for turn, is_counted in zip(turns, counts.tolist(), strict=True):
        if is_counted and turn.item:
            # How many attempts it took; one more than there are if the word was not found.
            attempts.setdefault(turn.item, []).append(
                SOLVED.index(turn.outcome) if turn.outcome in SOLVED else ATTEMPTS
            )
    machine_of: dict[str, list[float]] = {}
    for one, is_correct in zip(filled, correct.tolist(), strict=True):
        if one.item in attempts:
            machine_of.setdefault(one.item, []).append(is_correct)
    if not machine_of:
        return UndefinedFigure(TurnReason.NO_COMMON_ITEMS)
    word_of = {one.item: one.word for one in filled}
    items = sorted(machine_of)
    machine = np.array([np.mean(machine_of[item]) for item in items])
    people = np.array([[np.mean(np.array(attempts[item]) <= attempt) for attempt in range(ATTEMPTS)] for item in items])
    return BesidePeople(
        items=len(items),
        turns=sum(len(attempts[item]) for item in items),
        filters=filters,
        machine_percent=100 * float(machine.mean()),
        people_percent=tuple(100 * float(mean) for mean in people.mean(axis=0)),
        machine_minus_people=tuple(
            MeanDifference(
                100 * float(apart.mean()), _over_words(apart, [word_of[item] for item in items], least=-1, unit=100)
            )
            for apart in (machine[:, None] - people).T
        ),
    )


def names_of(problem: Mapping[str, Sequence[str]], most: int) -> str:
    """Format `kind: first, second, …` for each kind of problem that occurs."""
    return "; ".join(
        f"{kind}: {', '.join(names[:most])}" + (f" … ({len(names)})" if len(names) > most else "")
        for kind, names in problem.items()
        if names
    )
