"""The report on one comparison: from judgements to WINS, LOSSES and the gain, and what they are worth.

Every choice that the published protocol leaves open (ours) is made here or in `crosslens_metrics`, and explained in
docs/side-by-side-files.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import agreement, gains
from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.majorities import majority_outcomes, moved_outcomes
from crosslens_metrics.reports.comparison_figures import (
    AlphaFigure,
    ComparisonOutcome,
    ComparisonReason,
    ComparisonSummary,
    FlipShares,
    ImageCounts,
    ImagePart,
    JudgingTimes,
    RaterFigures,
    RegionOutcome,
    ReportedFigures,
    TrialShare,
    UndefinedComparison,
    share_of_trials,
    sign_test_of,
    value_or_reason,
)
from crosslens_metrics.reports.figures import random_stream
from crosslens_metrics.reports.gain_figures import anytime_interval, gain_figure, precision_of
from crosslens_metrics.sampling.intervals import Interval, share_bounds
from crosslens_metrics.sampling.significance import count_flips
from crosslens_metrics.scales import SEVEN_POINTS, Scale
from crosslens_metrics.signatures import Signature, sample_digest

METHOD = "sxs-majority"
VERSION = 2
"""Of the method: goes up when the same judgements would give another figure."""
NO_DESIGN = Signature("design", ())
"""A signature without any figure, which says how pairs were drawn and judged; here nothing."""
Repeat = tuple[int, int, str]


@dataclass(frozen=True)
class CountedJudgements:
    """Judgements that count, column by column, all columns of one length: no gold pairs, no repeats."""

    image: NDArray[Any]
    """Codes or names."""
    rater: NDArray[Any]
    score: NDArray[np.int_]
    """Numbers of levels, test against base."""
    test_is_left: NDArray[np.int8]
    """1 left, 0 right, −1 unknown."""
    seconds: NDArray[np.float64]
    """NaN where unknown."""
    scale: Scale = SEVEN_POINTS
    design: Signature = NO_DESIGN
    """How pairs were drawn and judged, as far as that is known: settings for the signature."""

    def __post_init__(self) -> None:
        if len({len(self.image), len(self.rater), len(self.score), len(self.test_is_left), len(self.seconds)}) > 1:
            raise ValueError("The columns of judgements must have one length.")
        if not np.isin(self.score, self.scale.numbers).all():
            raise ValueError(f"Scores on this scale are {', '.join(map(str, self.scale.numbers))}.")


def build_report(
    judged: CountedJudgements,
    *,
    seed: int,
    replication: int = 3,
    repeats: Sequence[Repeat] = (),
    region_of: Mapping[Any, str] | None = None,
    not_judged: int = 0,
    counted_similar: int = 0,
    set_aside: int = 0,
    not_judged_in: Mapping[str, int] | None = None,
    counted_similar_in: Mapping[str, int] | None = None,
    name_of: Callable[[Any], str] = str,
    resamples: int = 10_000,
) -> ReportedFigures:
    """All figures of one comparison.

    - `seed`: each figure draws from a stream of its own, so none changes when another is added.
    - `replication`: how many judgements an image needs.
    - `region_of`: with it the gain is also given for each region.
    - `not_judged` and `counted_similar`: pairs without any judgement, and pairs with equal captions that count as
      SIMILAR without having been shown: those are in the denominator of the gain, and in no other figure.
    - `set_aside`: judgements that were made and do not count; told beside the figures.
    - `not_judged_in` and `counted_similar_in`: the same by region.
    - `name_of`: the name of an image, for the signature, where `judged` has another code of it.
    - `resamples`: of the bootstrap.
    - returned: figures, each with its interval, or why it has none.
    """
    tally = _ImageTally(judged, replication)
    outcome = _outcome(tally, tally.everything, not_judged, counted_similar, resamples, random_stream(seed, "gain"))
    regions = _regions(tally, region_of, not_judged_in or {}, counted_similar_in or {}, resamples, seed)
    preferred, left = _sides(judged)
    return ReportedFigures(
        signature=signature_of(
            judged,
            seed=seed,
            replication=replication,
            counted_similar=counted_similar,
            set_aside=set_aside,
            name_of=name_of,
            resamples=resamples,
        ),
        judgements=len(judged.score),
        set_aside=set_aside,
        outcome=outcome,
        precision=precision_of(outcome),
        alpha=value_or_reason(lambda: _alpha(tally, judged, resamples, random_stream(seed, "alpha"))),
        distribution={score: int((judged.score == score).sum()) for score in judged.scale.numbers},
        left=share_of_trials(int(left.sum()), int(preferred.sum()), ComparisonReason.NO_SIDE_PREFERRED),
        flips=_flips(repeats),
        seconds=_times(judged.seconds),
        raters=_raters(judged, preferred, left, repeats),
        regions=regions,
    )


def signature_of(
    judged: CountedJudgements,
    *,
    seed: int,
    replication: int,
    counted_similar: int,
    set_aside: int,
    name_of: Callable[[Any], str] = str,
    resamples: int = 10_000,
) -> Signature:
    """The signature of all figures that `build_report`, which takes the same, gives of a comparison."""
    images, names = _codes(judged.image)
    complete = np.flatnonzero(np.bincount(images, minlength=len(names)) >= replication)
    made = {"v": VERSION, "replication": replication, "scale": judged.scale.points}
    settings = {
        **made,
        **dict(judged.design.settings),
        # Whatever the design of a file says of these.
        **made,
        "complete": len(complete),
        "similar": counted_similar,
        "set-aside": set_aside,
        "raters": len(np.unique(judged.rater)),
        "sample": sample_digest([name_of(names[place]) for place in complete]),
        "bootstrap": f"{resamples}/{seed}",
    }
    return Signature.of(METHOD, settings)


def outcomes_by_group(
    judged: CountedJudgements,
    *,
    seed: int,
    replication: int,
    group_of: Mapping[Any, str],
    not_judged_in: Mapping[str, int],
    counted_similar_in: Mapping[str, int],
    resamples: int,
) -> tuple[RegionOutcome, ...]:
    """Compute the outcomes that `build_report` gives by region, over any other groups of images."""
    tally = _ImageTally(judged, replication)
    return _regions(tally, group_of, not_judged_in, counted_similar_in, resamples, seed)


def summarise(
    judged: CountedJudgements,
    *,
    seed: int,
    replication: int = 3,
    not_judged: int = 0,
    counted_similar: int = 0,
    resamples: int = 10_000,
) -> ComparisonSummary:
    """Of `build_report`, which takes the same, what takes little time: most goes into the interval of alpha."""
    tally = _ImageTally(judged, replication)
    return ComparisonSummary(
        _outcome(tally, tally.everything, not_judged, counted_similar, resamples, random_stream(seed, "gain")),
        value_or_reason(lambda: agreement.alpha_of_ratings(tally.image, judged.score, level="ordinal")),
    )


def decided(
    judged: CountedJudgements, *, replication: int = 3, similar: Sequence[Any] = (), not_judged: int = 0
) -> DecidedImages:
    """What each complete image adds to gains over several comparisons; `similar` images count as neither.

    - `judged` and `replication`: as for `build_report`.
    - `similar`: names of images whose captions are equal.
    - `not_judged`: pairs without any judgement.
    """
    tally = _ImageTally(judged, replication)
    complete = int(tally.is_complete.sum())
    if not _says_something(complete, len(tally.names) - complete + not_judged):
        similar = ()
    images = np.array([*np.asarray(tally.names, dtype=object)[tally.is_complete], *similar], dtype=object)
    outcomes = np.concatenate([tally.outcome[tally.is_complete], np.zeros(len(similar), dtype=np.int8)])
    return DecidedImages(images, outcomes, **tally.judged(tally.is_complete))


def _says_something(complete: int, incomplete: int) -> bool:
    """Pairs that count as SIMILAR unseen are no result by themselves while all that are shown wait for judgements."""
    return complete > 0 or incomplete == 0


class _ImageTally:
    """Judgements counted by image."""

    def __init__(self, judged: CountedJudgements, replication: int) -> None:
        self.replication = replication
        self.image, self.names = _codes(judged.image)
        n = len(self.names)
        self.judgements = np.bincount(self.image, minlength=n)
        better = np.bincount(self.image[judged.score > 0], minlength=n)
        worse = np.bincount(self.image[judged.score < 0], minlength=n)
        self.outcome = majority_outcomes(better, worse, self.judgements)
        self.is_complete = self.judgements >= replication
        self.everything = np.ones(n, dtype=bool)
        self.rater, self.sign = judged.rater, np.sign(judged.score)
        self.moved = np.zeros(len(self.image))
        counts = self.is_complete[self.image]
        self.moved[counts] = moved_outcomes(self.sign[counts], self.image[counts])

    def judged(self, chosen: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """The columns of judgements that `DecidedImages` has of chosen images."""
        counts = chosen[self.image]
        columns = {"rater": self.rater[counts], "sign": self.sign[counts], "moved": self.moved[counts]}
        return {"judged": (np.cumsum(chosen) - 1)[self.image[counts]], **columns}


def _codes(column: NDArray[Any]) -> tuple[NDArray[np.int_], list[Hashable]]:
    """Numbers from 0 for the distinct values, and the values. By a dict: sorting many texts takes ten times as long."""
    seen: dict[Hashable, int] = {}
    codes = np.fromiter((seen.setdefault(value, len(seen)) for value in column.tolist()), dtype=int, count=len(column))
    return codes, list(seen)


def _outcome(
    tally: _ImageTally,
    chosen: NDArray[np.bool_],
    not_judged: int,
    counted_similar: int,
    resamples: int,
    rng: np.random.Generator,
) -> ComparisonOutcome:
    judgements, is_complete = tally.judgements[chosen], tally.is_complete[chosen]
    outcomes = tally.outcome[chosen][is_complete]
    wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    images = len(outcomes) + counted_similar
    lacking = np.bincount(judgements[~is_complete], minlength=tally.replication)
    lacking[0] += not_judged
    parts_of = images if _says_something(len(outcomes), int(lacking.sum())) else 0
    counted = np.concatenate([outcomes, np.zeros(counted_similar, dtype=np.int8)])
    judged = DecidedImages(np.arange(len(counted)), counted, **tally.judged(chosen & tally.is_complete))
    return ComparisonOutcome(
        images=ImageCounts(
            denominator=images,
            complete=len(outcomes),
            counted_similar=counted_similar,
            incomplete=int(lacking.sum()),
            incomplete_by_judgements={number: int(count) for number, count in enumerate(lacking)},
            beyond_replication=int((judgements > tally.replication).sum()),
        ),
        wins=_part(wins, parts_of),
        losses=_part(losses, parts_of),
        neither=_part(images - wins - losses, parts_of),
        gain=value_or_reason(
            lambda: gain_figure(
                gains.gain(wins, losses, parts_of),
                lambda: gains.gain_interval(wins, losses, parts_of, resamples=resamples, rng=rng),
                judged,
            )
        ),
        sign_test=value_or_reason(lambda: sign_test_of(wins, losses, images=images)),
        anytime_interval=value_or_reason(lambda: anytime_interval(wins, losses, parts_of, judged.raters)),
    )


def _part(count: int, images: int) -> ImagePart:
    return ImagePart(count, value_or_reason(lambda: gains.gain(count, 0, images)))


def _alpha(tally: _ImageTally, judged: CountedJudgements, resamples: int, rng: np.random.Generator) -> AlphaFigure:
    image, score = tally.image, judged.score
    value = agreement.alpha_of_ratings(image, score, level="ordinal")
    interval = value_or_reason(
        lambda: agreement.alpha_interval(image, score, level="ordinal", resamples=resamples, rng=rng)
    )
    other_raters = value_or_reason(
        lambda: agreement.alpha_with_other_raters(image, judged.rater, score, level="ordinal")
    )
    pairs = _pairs_within(image)
    alike = sum(_pairs_within(image[np.sign(score) == sign]) for sign in (-1, 0, 1))
    return AlphaFigure(int((np.bincount(image) > 1).sum()), value, 100 * alike / pairs, interval, other_raters)


def _pairs_within(groups: NDArray[np.int_]) -> int:
    counts = np.bincount(groups)
    return int((counts * (counts - 1)).sum())


def _sides(judged: CountedJudgements) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which judgements prefer a side that is known, and which the left one."""
    preferred = (judged.score != 0) & (judged.test_is_left >= 0)
    return preferred, preferred & ((judged.score > 0) == (judged.test_is_left == 1))


def _flips(repeats: Sequence[Repeat]) -> FlipShares:
    same, opposite = count_flips([first for first, _, _ in repeats], [again for _, again, _ in repeats])
    return FlipShares(
        share_of_trials(same, len(repeats), ComparisonReason.NO_REPEATS),
        share_of_trials(opposite, len(repeats), ComparisonReason.NO_REPEATS),
    )


def _times(seconds: NDArray[np.float64]) -> JudgingTimes | UndefinedComparison:
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        return UndefinedComparison(ComparisonReason.NO_TIMES)
    low, median, high = (float(value) for value in np.quantile(known, [0.25, 0.5, 0.75]))
    return JudgingTimes(len(known), median, Interval(low, high))


def _raters(
    judged: CountedJudgements, preferred: NDArray[np.bool_], left: NDArray[np.bool_], repeats: Sequence[Repeat]
) -> tuple[RaterFigures, ...]:
    codes, names = _codes(judged.rater)
    n = len(names)
    judgements = np.bincount(codes, minlength=n)
    decided_by, left_by = np.bincount(codes[preferred], minlength=n), np.bincount(codes[left], minlength=n)
    bounds = zip(*share_bounds(left_by, decided_by), strict=True)
    seconds = np.split(judged.seconds[np.argsort(codes, kind="stable")], np.cumsum(judgements)[:-1])
    shown_again: dict[str, list[Repeat]] = {}
    for repeat in repeats:
        shown_again.setdefault(repeat[2], []).append(repeat)
    figures = []
    for code, (low, high) in enumerate(bounds):
        name, total, count = str(names[code]), int(decided_by[code]), int(left_by[code])
        times = _times(seconds[code])
        figures.append(
            RaterFigures(
                rater=name,
                judgements=int(judgements[code]),
                left=TrialShare(count, total, 100 * count / total, Interval(100 * float(low), 100 * float(high)))
                if total
                else UndefinedComparison(ComparisonReason.NO_SIDE_PREFERRED),
                flips=_flips(shown_again.get(name, [])),
                seconds_median=times if isinstance(times, UndefinedComparison) else times.median,
            )
        )
    return tuple(sorted(figures, key=lambda figure: figure.rater))


def _regions(
    tally: _ImageTally,
    region_of: Mapping[Any, str] | None,
    not_judged_in: Mapping[str, int],
    counted_similar_in: Mapping[str, int],
    resamples: int,
    seed: int,
) -> tuple[RegionOutcome, ...]:
    if region_of is None:
        return ()
    regions = np.array([region_of.get(name, "") for name in tally.names], dtype=object)
    return tuple(
        RegionOutcome(
            region,
            _outcome(
                tally,
                np.asarray(regions == region, dtype=bool),
                not_judged_in.get(region, 0),
                counted_similar_in.get(region, 0),
                resamples,
                random_stream(seed, f"gain in {region}"),
            ),
        )
        for region in sorted({*regions.tolist(), *not_judged_in, *counted_similar_in})
    )
