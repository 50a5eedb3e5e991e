"""Judgements as columns for figures, read in few queries however many there are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from core.images.models import CollectionImage, Image
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.reports.comparison import (
    CountedJudgements,
    Repeat,
)
from crosslens_metrics.scales import SCALES, Scale
from crosslens_metrics.signatures import Signature
from research.scoring.selectors.restricting import restriction
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.models import LEFT_OUT, Comparison, Judgement, Pair, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.judging_designs import PairImageNames, design_of, languages_shown

REGION = "region"
"""The column of a manifest that says where an image is from."""
PAIR_COLUMNS = ("comparison_id", "pk", "image_id", "task_id")
JUDGEMENT_COLUMNS = (
    *("comparison_id", "pair_id", "person_id", "score", "test_is_left", "active_ms", "is_late"),
    "batch__instructions__version",
)
REPEAT_COLUMNS = (
    *("comparison_id", "person_id", "score", "is_late"),
    *("repeated__score", "repeated__is_late", "repeated__pair_id"),
)
NameOf = Callable[[int], str]
NONE = -9
"""Marks missing values in columns: no score or key has this value."""


@dataclass(frozen=True)
class SetAside:
    """Judgements of pairs and repeats that do not count, each under one reason."""

    excluded: int = 0
    paused: int = 0
    late: int = 0
    of_images: int = 0
    """Of images left out of results."""

    @property
    def total(self) -> int:
        return self.excluded + self.paused + self.late + self.of_images


@dataclass(frozen=True)
class ComparisonEvidence:
    """All data of the report on one comparison. `rater` of `judged` are pseudonyms, `image` primary keys."""

    judged: CountedJudgements
    repeats: Sequence[Repeat]
    set_aside: SetAside
    set_aside_of: Mapping[str, int]
    """By the rater's pseudonym."""
    pairs: int
    """All images, including those that count without being shown."""
    similar: Sequence[int]
    """Images whose captions are equal and count as SIMILAR without being shown."""
    not_judged: Sequence[int]
    """Images to be shown that have no judgement that counts."""
    region_of: Mapping[int, str] | None
    """None if no image has a known region."""
    image_name: NameOf
    """The name of an image as files have it."""


def evidence_of(comparisons: Iterable[Comparison], filter: ImageFilter = ALL_IMAGES) -> dict[int, ComparisonEvidence]:
    """Return the data by comparison, of the images that a filter leaves and that are not left out of results.

    Without a filter, the number of queries does not depend on how many comparisons there are.

    Raises ImageFilterError if the filter cannot be applied to one of the languages.
    """
    comparisons = list(comparisons)
    ids = [comparison.pk for comparison in comparisons]
    stopped = _stopped(ids)
    pairs = _by_comparison(_columns(pairs_of(ids), PAIR_COLUMNS))
    judgements = _by_comparison(_columns(answered(ids, TrialKind.PAIR), JUDGEMENT_COLUMNS))
    repeats = _by_comparison(_columns(answered(ids, TrialKind.REPEAT), REPEAT_COLUMNS))
    regions = _regions(ids)
    left_out, shown = images_left_out(comparisons), languages_shown(ids)
    names = {comparison.project_id: cache(partial(pseudonym, comparison.project)) for comparison in comparisons}
    image_names = PairImageNames(comparisons)
    return {
        comparison.pk: _evidence(
            *_only(
                _images_left(comparison, filter),
                pairs[comparison.pk],
                judgements[comparison.pk],
                repeats[comparison.pk],
            ),
            left_out=left_out.get(comparison.collection_id, set()),
            stopped=stopped[comparison.pk],
            regions=regions,
            name_of=names[comparison.project_id],
            scale=SCALES[comparison.scale],
            design=design_of(comparison, filter),
            shown_in=shown[comparison.pk],
            image_name=partial(image_names.of, comparison.collection_id),
        )
        for comparison in comparisons
    }


def stopped_raters(comparison_id: int) -> dict[int, str]:
    """Return whose judgements do not count now, and their status."""
    return _stopped([comparison_id])[comparison_id]


def _stopped(comparisons: Sequence[int]) -> dict[int, dict[int, str]]:
    stopped: dict[int, dict[int, str]] = {comparison: {} for comparison in comparisons}
    statuses = RaterStatus.objects.filter(comparison__in=comparisons).exclude(state=RaterState.RESTORED)
    for comparison, person, state in statuses.values_list("comparison", "person", "state"):
        stopped[comparison][person] = state
    return stopped


def pairs_of(comparisons: Sequence[int]) -> QuerySet[Pair]:
    return Pair.objects.filter(comparison__in=comparisons).order_by()


def answered(comparisons: Sequence[int], kind: TrialKind) -> QuerySet[Judgement]:
    return Judgement.objects.filter(comparison__in=comparisons, kind=kind, choice__isnull=False).order_by()


def _columns(rows: QuerySet[Any], names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the integers of `rows`, one line each."""
    lines = rows.values_list(*names)
    flat = np.fromiter((NONE if cell is None else cell for cell in chain.from_iterable(lines)), dtype=np.int64)
    return flat.reshape(-1, len(names))


def _by_comparison(table: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Group lines by the comparison in their first column, in an order that does not depend on the database.

    A comparison without any has an empty table.
    """
    # The last digit of sums of shares depends on their order.
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    starts = np.flatnonzero(np.diff(table[:, 0], prepend=-1))
    return defaultdict(lambda: table[:0], {int(part[0, 0]): part for part in np.split(table, starts) if len(part)})


def images_left_out(comparisons: Iterable[Comparison]) -> dict[int, set[int]]:
    """Return the images left out of results, by collection."""
    images: dict[int, set[int]] = defaultdict(set)
    entries = CollectionImage.objects.left_out().filter(collection__in={one.collection_id for one in comparisons})
    for collection, image in entries.order_by().values_list("collection", "image"):
        images[collection].add(image)
    return images


def _images_left(comparison: Comparison, filter: ImageFilter) -> NDArray[np.int64] | None:
    if filter.is_all:
        return None
    return restriction(filter, project=comparison.project).images_in(comparison.language_id)


def _only(
    images: NDArray[np.int64] | None,
    pairs: NDArray[np.int64],
    judgements: NDArray[np.int64],
    repeats: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Keep what is about some of the images; None keeps all."""
    if images is None:
        return pairs, judgements, repeats
    kept = pairs[np.isin(pairs[:, 2], images)]
    ids = kept[:, 1]
    return kept, judgements[np.isin(judgements[:, 1], ids)], repeats[np.isin(repeats[:, -1], ids)]


def _regions(comparisons: Sequence[int]) -> dict[int, str]:
    named = Image.objects.filter(pk__in=pairs_of(comparisons).values("image"), extra__has_key=REGION)
    regions = {image: str(region or "").strip() for image, region in named.values_list("pk", f"extra__{REGION}")}
    return {image: region for image, region in regions.items() if region}


def _evidence(
    pairs: NDArray[np.int64],
    judgements: NDArray[np.int64],
    repeats: NDArray[np.int64],
    *,
    left_out: Collection[int],
    stopped: Mapping[int, str],
    regions: Mapping[int, str],
    name_of: NameOf,
    scale: Scale,
    design: Signature,
    shown_in: Mapping[int, Collection[str]],
    image_name: NameOf,
) -> ComparisonEvidence:
    is_pair_out = np.isin(pairs[:, 2], list(left_out))
    out = pairs[is_pair_out, 1]
    is_out, is_repeat_out = np.isin(judgements[:, 1], out), np.isin(repeats[:, -1], out)
    made = np.concatenate([judgements[:, [2, 6]], repeats[:, [1, 3]]])
    set_aside, set_aside_of = _set_aside(made, np.concatenate([is_out, is_repeat_out]), stopped, name_of)
    pairs, judgements, repeats = pairs[~is_pair_out], judgements[~is_out], repeats[~is_repeat_out]
    order = np.argsort(pairs[:, 1])
    image_of_pair, pair_ids, tasks = pairs[order, 2], pairs[order, 1], pairs[order, 3]
    _, pair, person, score, test_is_left, active_ms, is_late, instructions = judgements.T
    people, person_code = np.unique(person, return_inverse=True)
    names = np.array([name_of(int(one)) for one in people], dtype=object)
    counts = (is_late == 0) & ~np.isin(person, list(stopped))
    place = np.searchsorted(pair_ids, pair)
    is_judged = np.zeros(len(pair_ids), dtype=bool)
    is_judged[place[counts]] = True
    here = {image: region for image in image_of_pair.tolist() if (region := regions.get(image))}
    return ComparisonEvidence(
        judged=CountedJudgements(
            image=image_of_pair[place][counts],
            rater=names[person_code][counts],
            score=score[counts],
            test_is_left=np.where(test_is_left == NONE, -1, test_is_left)[counts].astype(np.int8),
            # A browser without scripts measures nothing, and nobody answers in no time.
            seconds=np.where(active_ms > 0, active_ms / 1000, np.nan)[counts],
            scale=scale,
            design=design.with_values(
                "instructions", np.unique(instructions[counts & (instructions != NONE)]).tolist()
            ).with_values(
                "instructions-in", chain.from_iterable(shown_in.get(one, ()) for one in set(person[counts].tolist()))
            ),
        ),
        repeats=[
            (int(first), int(again), name_of(int(rater)))
            for _, rater, again, late, first, first_late, _pair in repeats.tolist()
            if not late and not first_late and first != NONE and rater not in stopped
        ],
        set_aside=set_aside,
        set_aside_of=set_aside_of,
        pairs=len(pair_ids),
        similar=image_of_pair[tasks == NONE].tolist(),
        not_judged=image_of_pair[(tasks != NONE) & ~is_judged].tolist(),
        region_of=here or None,
        image_name=image_name,
    )


def _set_aside(
    made: NDArray[np.int64], is_out: NDArray[np.bool_], stopped: Mapping[int, str], name_of: NameOf
) -> tuple[SetAside, Mapping[str, int]]:
    """Count judgements that do not count. `made`: who, and whether too late; `is_out`: whether of an image left out.

    That precedes a rater's status, which precedes lateness.
    """
    reasons: Counter[str] = Counter()
    raters: Counter[str] = Counter()
    apart = is_out | (made[:, 1] == 1) | np.isin(made[:, 0], list(stopped))
    for person, is_of_image in zip(made[apart, 0].tolist(), is_out[apart].tolist(), strict=True):
        reasons["image" if is_of_image else stopped.get(person, "late")] += 1
        raters[name_of(person)] += 1
    left_out = sum(reasons[state] for state in LEFT_OUT)
    counts = SetAside(left_out, reasons[RaterState.PAUSED], reasons["late"], reasons["image"])
    return counts, dict(raters)
