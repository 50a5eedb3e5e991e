"""The report on the turns of a game: who found the word when, and how close the guesses were.

Every choice that the published protocol leaves open (ours) is made here or in `crosslens_metrics`, and explained in
docs/game-files.md.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.reports.figures import ReportFigure, random_stream
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval, mean_interval, share_bounds
from crosslens_metrics.sampling.resampling import subset_sums
from crosslens_metrics.sampling.variance import ratio_bounds
from crosslens_metrics.signatures import Signature, sample_digest
from crosslens_metrics.undefined import UndefinedReason
from gapgame.rules.figures import (
    EqualSamples,
    ResampledFigure,
    TurnMean,
    TurnReason,
    TurnShare,
    UndefinedFigure,
    equal_samples,
    resampled,
    share_of_turns,
    value_or_reason,
    varied,
)
from gapgame.rules.play import ATTEMPTS
from gapgame.rules.turns import ALL_OUTCOMES, OUTCOMES, FilteredTurns, PlayedTurn, TurnRule, filtered_turns

METHOD = "gap-game"
VERSION = 2
"""Version of the method: raised when the same turns would give another figure."""
RESAMPLES = 1_000
BY = ("word", "image", "player", "language")

KINDS = len(OUTCOMES)
# The columns of the table that all figures are sums of: outcomes, then for each attempt whether there was a guess and
# its similarity, and the same for inexact guesses.
GUESSES = slice(KINDS, KINDS + ATTEMPTS)
SIMILARITY = slice(GUESSES.stop, GUESSES.stop + ATTEMPTS)
INEXACT = slice(SIMILARITY.stop, SIMILARITY.stop + ATTEMPTS)
INEXACT_SIMILARITY = slice(INEXACT.stop, INEXACT.stop + ATTEMPTS)
COLUMNS = INEXACT_SIMILARITY.stop


@dataclass(frozen=True)
class AttemptSimilarity(ReportFigure):
    """`all` guesses of an attempt, the word itself having similarity 1; and those that were `inexact`."""

    attempt: int
    all: TurnMean | UndefinedFigure
    inexact: TurnMean | UndefinedFigure


@dataclass(frozen=True)
class TurnOutcomes(ReportFigure):
    """The figures of some turns. `players` and `items` are None if some turns do not name theirs."""

    turns: int
    players: int | None
    items: int | None
    outcomes: Mapping[str, TurnShare | UndefinedFigure]
    similarity: tuple[AttemptSimilarity, ...]

    @property
    def designs(self) -> dict[str, SamplingDesign]:
        """Of each kind of interval, as long as not all players agree."""
        return designs_of(self.turns, self.players or 0, self.items or 0)


@dataclass(frozen=True)
class SplitOutcomes(ReportFigure):
    split: str
    figures: TurnOutcomes


@dataclass(frozen=True)
class EqualOutcomes(ReportFigure):
    """Figures of splits of equal size; `split` is empty for all splits together."""

    split: str
    outcomes: Mapping[str, ResampledFigure]
    similarity: tuple[ResampledFigure | UndefinedFigure, ...]


@dataclass(frozen=True)
class EqualSize(ReportFigure):
    """`size` turns of each split, drawn repeatedly without replacement."""

    size: int
    resamples: int
    overall: EqualOutcomes
    splits: tuple[EqualOutcomes, ...]


@dataclass(frozen=True)
class GroupOutcomes(ReportFigure):
    """The figures of one word, image, player or language; `name` is empty if unknown.

    Shares have only the exact interval, and means none: there are too many groups with too few turns.
    """

    name: str
    turns: int
    percent: Mapping[str, float]
    intervals: Mapping[str, Interval]
    counts: Mapping[str, int]
    guesses: tuple[int, ...]
    similarity: tuple[float | None, ...]


@dataclass(frozen=True)
class GameReport(ReportFigure):
    signature: Signature
    turns: int
    counted: int
    filters: tuple[FilteredTurns, ...]
    overall: TurnOutcomes
    splits: tuple[SplitOutcomes, ...]
    equal_size: EqualSize | UndefinedFigure
    equal_samples: EqualSamples | UndefinedFigure
    by: Mapping[str, tuple[GroupOutcomes, ...]]


def designs_of(turns: int, players: int, items: int) -> dict[str, SamplingDesign]:
    """What the kinds of intervals generalise to; `players` and `items` are 0 if they are unknown."""
    these_items = {Factor.ITEM: items} if items else {}
    fixed = {Factor.PLAYER: players} | these_items if players else these_items
    designs = {
        "interval_of_shares": SamplingDesign(Method.CLOPPER_PEARSON, {Factor.TURN: turns}, fixed),
        "interval_of_means": SamplingDesign(Method.STUDENT, {Factor.TURN: turns}, fixed),
    }
    if players > 1:
        designs["over_players"] = SamplingDesign(Method.JACKKNIFE, {Factor.PLAYER: players}, these_items)
    return designs


def build_report(
    turns: Sequence[PlayedTurn],
    *,
    keep: Collection[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
    vectors: str = "",
    by: Collection[str] = (),
) -> GameReport:
    """Compute all figures of a game.

    - `keep`: names of rules (`gapgame.rules.turns.TurnRule`) that leave nothing out.
    - `seed`: each figure draws from a stream of its own, so none changes when another is added.
    - `resamples`: how often splits are made equal.
    - `vectors`: the signature of the word vectors behind the similarities, for the report's own.
    - `by`: which groups to report, of `BY`: each word, image, player or language.
    """
    unknown = [name for name in keep if name not in set(TurnRule)] + [name for name in by if name not in BY]
    if unknown:
        raise ValueError(f"There is no rule or group {unknown[0]!r}.")
    counts, filters = filtered_turns(turns, keep=keep)
    counted = [turn for turn, counts_ in zip(turns, counts.tolist(), strict=True) if counts_]
    table = _TurnTable(counted)
    split_of, splits = _codes(turn.split for turn in counted)
    chosen = [np.ones(len(counted), dtype=bool), *(split_of == code for code in range(len(splits)))]
    figures = _outcomes(table, chosen)
    ordered = [(code, splits[code]) for code in sorted(range(len(splits)), key=lambda code: splits[code])]
    return GameReport(
        signature=Signature.of(
            METHOD,
            {
                "v": VERSION,
                "left-out": "+".join(rule for rule in TurnRule if rule not in keep) or None,
                "vectors": vectors or None,
                "turns": len(counted),
                "sample": sample_digest([f"{turn.language} {turn.item} {turn.player}" for turn in counted]),
                "bootstrap": f"{resamples}/{seed}",
            },
        ),
        turns=len(turns),
        counted=len(counted),
        filters=filters,
        overall=figures[0],
        splits=tuple(SplitOutcomes(split, figures[1 + code]) for code, split in ordered),
        equal_size=_equal_size(table, split_of, ordered, resamples, seed),
        equal_samples=equal_samples(
            np.where(table.values[:, GUESSES] > 0, table.values[:, SIMILARITY], np.nan),
            split_of,
            ordered,
            resamples=resamples,
            seed=seed,
            missing=UndefinedFigure(table.missing_similarity if counted else TurnReason.NO_TURNS),
        ),
        by={name: _groups(table, [getattr(turn, name) for turn in counted]) for name in BY if name in by},
    )


class _TurnTable:
    """Turns as a table of numbers whose sums, over any of the turns, give all figures."""

    def __init__(self, turns: Sequence[PlayedTurn]) -> None:
        number = len(turns)
        code_of = {name: code for code, name in enumerate(OUTCOMES)} | dict.fromkeys(
            set(ALL_OUTCOMES) - set(OUTCOMES), KINDS - 1
        )
        outcome = np.fromiter((code_of[turn.outcome] for turn in turns), dtype=int, count=number)
        self.values = np.zeros((number, COLUMNS))
        self.values[np.arange(number), outcome] = 1
        says_similarities = any(turn.similarities is not None for turn in turns)
        self.missing_similarity = TurnReason.NO_GUESSES if says_similarities else TurnReason.NO_SIMILARITIES
        similarity = np.full((number, ATTEMPTS), np.nan)
        for attempt in range(ATTEMPTS):
            similarity[:, attempt] = [
                turn.similarities[attempt] if turn.similarities and attempt < len(turn.similarities) else np.nan
                for turn in turns
            ]
        is_guess = ~np.isnan(similarity)
        is_inexact = is_guess & (outcome[:, None] != np.arange(ATTEMPTS))
        self.values[:, GUESSES], self.values[:, INEXACT] = is_guess, is_inexact
        self.values[:, SIMILARITY] = np.where(is_guess, similarity, 0)
        self.values[:, INEXACT_SIMILARITY] = np.where(is_inexact, similarity, 0)
        players, names = _codes(turn.player for turn in turns)
        self.player = None if "" in names else players
        items, names = _codes(turn.item for turn in turns)
        self.item = None if "" in names else items


def _outcomes(table: _TurnTable, chosen: Sequence[NDArray[np.bool_]]) -> list[TurnOutcomes]:
    """Compute the figures of several subsets of the turns, with intervals over players."""
    ratios, players = [], 0
    numerators, denominators = [], []
    if table.player is not None and len(table.values):
        players = int(table.player.max()) + 1
        for subset in chosen:
            sums = _sums_by(table.values[subset], table.player[subset], players)
            turns = sums[:, :KINDS].sum(axis=1, keepdims=True)
            numerators += [sums[:, :KINDS], sums[:, SIMILARITY], sums[:, INEXACT_SIMILARITY]]
            denominators += [np.repeat(turns, KINDS, axis=1), sums[:, GUESSES], sums[:, INEXACT]]
        below = np.hstack(denominators)
        low, high = ratio_bounds(np.hstack(numerators), below)
        ratios = list(zip(low.tolist(), high.tolist(), np.count_nonzero(below, axis=0).tolist(), strict=True))
    width = KINDS + 2 * ATTEMPTS
    return [
        _figures_of(table, subset, _PlayerBounds(players, ratios[place * width : (place + 1) * width]))
        for place, subset in enumerate(chosen)
    ]


@dataclass(frozen=True)
class _PlayerBounds:
    """The bounds over players for some turns, and over how many; `players` is 0 if they are unknown."""

    players: int
    bounds: Sequence[tuple[float, float, int]]

    def interval(self, place: int, value: float, unit: float, items: int) -> Interval | UndefinedFigure:
        if not self.players:
            return UndefinedFigure(TurnReason.NO_PLAYERS)
        if self.players < 2:
            return UndefinedFigure(TurnReason.ONE_PLAYER)
        low, high, players = self.bounds[place]
        if players < 2:
            return UndefinedFigure(TurnReason.ONE_PLAYER)
        method = Method.UNANIMOUS if value in (0, unit) else Method.JACKKNIFE
        design = SamplingDesign(method, {Factor.PLAYER: players}, {Factor.ITEM: items} if items else {})
        return varied(unit * low, unit * high, design)


def _figures_of(table: _TurnTable, subset: NDArray[np.bool_], bounds: _PlayerBounds) -> TurnOutcomes:
    values = table.values[subset]
    turns, sums = len(values), values.sum(axis=0)
    squares = np.square(values).sum(axis=0)
    missing = UndefinedFigure(table.missing_similarity if turns else TurnReason.NO_TURNS)

    def mean(total: int, number: int, place: int) -> TurnMean | UndefinedFigure:
        count = int(sums[number])
        if not count:
            return missing
        value, design = float(sums[total]) / count, designs["interval_of_means"]
        student = value_or_reason(lambda: mean_interval(float(sums[total]), float(squares[total]), count).of(design))
        interval = student if isinstance(student, UndefinedFigure) else student.within(0, 1)
        return TurnMean(count, value, interval, bounds.interval(place, value, 1, items or 0))

    players, items = (None if codes is None else len(np.unique(codes[subset])) for codes in (table.player, table.item))
    designs = designs_of(turns, players or 0, items or 0)
    return TurnOutcomes(
        turns=turns,
        players=players,
        items=items,
        outcomes={
            name: share_of_turns(
                int(sums[code]),
                turns,
                bounds.interval(code, 100 * float(sums[code]) / turns, 100, items or 0),
                designs["interval_of_shares"],
            )
            if turns
            else UndefinedFigure(TurnReason.NO_TURNS)
            for code, name in enumerate(OUTCOMES)
        },
        similarity=tuple(
            AttemptSimilarity(
                attempt + 1,
                mean(SIMILARITY.start + attempt, GUESSES.start + attempt, KINDS + attempt),
                mean(INEXACT_SIMILARITY.start + attempt, INEXACT.start + attempt, KINDS + ATTEMPTS + attempt),
            )
            for attempt in range(ATTEMPTS)
        ),
    )


def _equal_size(
    table: _TurnTable, split_of: NDArray[np.int_], splits: Sequence[tuple[int, str]], resamples: int, seed: int
) -> EqualSize | UndefinedFigure:
    if not splits:
        return UndefinedFigure(TurnReason.NO_TURNS)
    if len(splits) == 1:
        return UndefinedFigure(TurnReason.ONE_SPLIT)
    size = int(np.bincount(split_of).min())
    drawn = {
        split: subset_sums(
            table.values[split_of == code, : SIMILARITY.stop],
            size=size,
            resamples=resamples,
            rng=random_stream(seed, f"equal size {split}"),
        )
        for code, split in splits
    }
    missing = UndefinedFigure(table.missing_similarity)

    def figures(split: str, sums: NDArray[np.float64]) -> EqualOutcomes:
        turns = sums[:, :KINDS].sum(axis=1)
        return EqualOutcomes(
            split,
            {name: resampled(100 * sums[:, code] / turns) for code, name in enumerate(OUTCOMES)},
            tuple(
                _resampled_ratio(sums[:, SIMILARITY.start + place], sums[:, GUESSES.start + place], missing)
                for place in range(ATTEMPTS)
            ),
        )

    together = np.sum(list(drawn.values()), axis=0)
    return EqualSize(
        size, resamples, figures("", together), tuple(figures(split, sums) for split, sums in drawn.items())
    )


def _resampled_ratio(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], missing: UndefinedFigure
) -> ResampledFigure | UndefinedFigure:
    if not denominators.any():
        return missing
    if not denominators.all():
        return UndefinedFigure(UndefinedReason.RESAMPLES_UNDEFINED)
    return resampled(numerators / denominators)


def _groups(table: _TurnTable, names: Sequence[str]) -> tuple[GroupOutcomes, ...]:
    codes, known = _codes(names)
    sums = _sums_by(table.values, codes, len(known))
    counts = sums[:, :KINDS].astype(int)
    turns = counts.sum(axis=1)
    low, high = share_bounds(counts, np.repeat(turns[:, None], KINDS, axis=1))
    percent = 100 * counts / np.maximum(turns, 1)[:, None]
    guesses = sums[:, GUESSES].astype(int)
    similarity = sums[:, SIMILARITY] / np.maximum(guesses, 1)
    columns = (turns, counts, percent, 100 * low, 100 * high, guesses, similarity)
    groups = [
        GroupOutcomes(
            name=name,
            turns=number,
            percent=dict(zip(OUTCOMES, of_percent, strict=True)),
            intervals=dict(zip(OUTCOMES, map(Interval, of_low, of_high), strict=True)),
            counts=dict(zip(OUTCOMES, of_counts, strict=True)),
            guesses=tuple(of_guesses),
            similarity=tuple(mean if tried else None for mean, tried in zip(of_similarity, of_guesses, strict=True)),
        )
        for name, number, of_counts, of_percent, of_low, of_high, of_guesses, of_similarity in zip(
            known, *(column.tolist() for column in columns), strict=True
        )
    ]
    return tuple(sorted(groups, key=lambda group: (-group.turns, group.name)))


def _sums_by(values: NDArray[np.float64], group: NDArray[np.int_], groups: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(group, column, minlength=groups) for column in values.T], axis=1)


def _codes(column: Iterable[str]) -> tuple[NDArray[np.int_], list[Any]]:
    """Number the distinct values from 0, and return both. By a dict: sorting many texts takes ten times as long."""
    seen: dict[Hashable, int] = {}
    codes = [seen.setdefault(value, len(seen)) for value in column]
    return np.array(codes, dtype=int), list(seen)
