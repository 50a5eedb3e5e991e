"""Judgements as columns for figures, read in few queries however many there are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from core.images.models import CollectionImage, Image
from core.images.selectors import keys_in_order
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.reports.comparison import (
    CountedJudgements,
    Repeat,
    build_report,
    decided,
    outcomes_by_group,
    signature_of,
)
from crosslens_metrics.reports.comparison_figures import RaterFigures, RegionOutcome, ReportedFigures
from crosslens_metrics.scales import SCALES, Scale
from crosslens_metrics.signatures import Signature
from research.scoring.selectors.restricting import restriction
from research.selection.models import PlaceLevelChoice
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.subsets import newest_choices
from sxs_eval.models import LEFT_OUT, Comparison, GoldPair, Judgement, Pair, RaterState, RaterStatus, TrialKind
from sxs_eval.rules.judging import has_failed
from sxs_eval.selectors.judging_designs import PairImageNames, design_of, languages_shown
from sxs_eval.selectors.overview import scripted_raters

REGION = "region"
"""The column of a manifest that says where an image is from."""
RESAMPLES = 10_000
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


@dataclass(frozen=True)
class ReportedRater:
    """A rater under their pseudonym. `figures` are from what counts: None if nothing of theirs does."""

    name: str
    figures: RaterFigures | None
    failures: Sequence[bool]
    """Whether they failed, for each attention item; late ones are left out."""
    set_aside: int
    state: str
    """A RaterState, or empty for those who were never paused."""
    is_scripted: bool


def evidence_of(comparisons: Iterable[Comparison], filter: ImageFilter = ALL_IMAGES) -> dict[int, ComparisonEvidence]:
    """Return the data by comparison, of the images that a filter leaves and that are not left out of results.

    Without a filter, the number of queries does not depend on how many comparisons there are.

    Raises
    ------
    ImageFilterError
        If the filter cannot be applied to one of the languages.
    """
    comparisons = list(comparisons)
    ids = [comparison.pk for comparison in comparisons]
    stopped = _stopped(ids)
    pairs = _by_comparison(_columns(_pairs(ids), PAIR_COLUMNS))
    judgements = _by_comparison(_columns(_answered(ids, TrialKind.PAIR), JUDGEMENT_COLUMNS))
    repeats = _by_comparison(_columns(_answered(ids, TrialKind.REPEAT), REPEAT_COLUMNS))
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


def report_of(comparison: Comparison, evidence: ComparisonEvidence | None = None) -> ReportedFigures:
    """Compute the report with the comparison's own seed: the same judgements always give the same figures."""
    known = evidence or evidence_of([comparison])[comparison.pk]
    return build_report(
        known.judged,
        seed=comparison.seed,
        replication=comparison.replication,
        repeats=known.repeats,
        region_of=known.region_of,
        not_judged=len(known.not_judged),
        counted_similar=len(known.similar),
        set_aside=known.set_aside.total,
        not_judged_in=_count_by_region(known.not_judged, known.region_of),
        counted_similar_in=_count_by_region(known.similar, known.region_of),
        name_of=known.image_name,
        resamples=RESAMPLES,
    )


def image_keys(comparison: Comparison, *, at_once: int) -> Iterator[dict[int, str]]:
    """Map image to key, in the order of the collection; images that were removed from it since come last, by hash."""
    yield from keys_in_order(comparison.collection_id, at_once=at_once)
    here = CollectionImage.objects.filter(collection=comparison.collection_id).values("image")
    shown = Q(pk__in=Pair.objects.filter(comparison=comparison).values("image"))
    shown |= Q(pk__in=GoldPair.objects.filter(comparison=comparison).values("image"))
    gone = Image.objects.filter(shown).exclude(pk__in=here).order_by("sha256").values_list("pk", "sha256")
    hashes = iter(gone)
    while keys := dict(islice(hashes, at_once)):
        yield keys


def level_outcomes(comparison: Comparison, evidence: ComparisonEvidence) -> list[RegionOutcome]:
    """Compute the outcome over the images from each level that has any complete one, the nearest level first."""
    here = _pairs([comparison.pk]).values("image")
    level_of = dict(newest_choices(comparison.project).filter(image__in=here).values_list("image", "level"))
    if not level_of:
        return []
    outcomes = outcomes_by_group(
        evidence.judged,
        seed=comparison.seed,
        replication=comparison.replication,
        group_of=level_of,
        not_judged_in=_count_by_region(evidence.not_judged, level_of),
        counted_similar_in=_count_by_region(evidence.similar, level_of),
        resamples=RESAMPLES,
    )
    by_level = {part.region: part for part in outcomes}
    return [
        by_level[level]
        for level in PlaceLevelChoice.values
        if level in by_level and by_level[level].outcome.images.denominator
    ]


def signature_of_figures(comparison: Comparison, evidence: ComparisonEvidence) -> Signature:
    """Return what the report on a comparison has too."""
    return signature_of(
        evidence.judged,
        seed=comparison.seed,
        replication=comparison.replication,
        counted_similar=len(evidence.similar),
        set_aside=evidence.set_aside.total,
        name_of=evidence.image_name,
        resamples=RESAMPLES,
    )


def decided_of(comparison: Comparison, evidence: ComparisonEvidence) -> DecidedImages:
    return decided(
        evidence.judged,
        replication=comparison.replication,
        similar=evidence.similar,
        not_judged=len(evidence.not_judged),
    )


def complete_images(comparison: Comparison, evidence: ComparisonEvidence) -> int:
    """Count the images that the gain is over."""
    return len(decided_of(comparison, evidence).outcome)


def complete_images_of(comparisons: Iterable[Comparison]) -> dict[int, int]:
    """Count them by comparison, without any filter."""
    chosen = list(comparisons)
    evidence = evidence_of(chosen)
    return {comparison.pk: complete_images(comparison, evidence[comparison.pk]) for comparison in chosen}


def looks_before(comparison: Comparison, planned: int | None) -> int:
    """Count at how many numbers of complete images, fewer than planned, its results were looked at."""
    return len({images for images in comparison.looks if planned is None or images < planned})


def rater_rows(comparison: Comparison, report: ReportedFigures, evidence: ComparisonEvidence) -> list[ReportedRater]:
    """List everybody who judged in the comparison or did an attention item, counted or not."""
    name_of = cache(partial(pseudonym, comparison.project))
    statuses = RaterStatus.objects.filter(comparison=comparison).values_list("person", "state")
    states = {name_of(person): state for person, state in statuses}
    figures = {rater.rater: rater for rater in report.raters}
    checks = _checks(comparison, name_of)
    scripted = {name_of(person) for person in scripted_raters(comparison)}
    return [
        ReportedRater(
            name,
            figures.get(name),
            checks.get(name, ()),
            evidence.set_aside_of.get(name, 0),
            states.get(name, ""),
            name in scripted,
        )
        for name in sorted({*figures, *checks, *evidence.set_aside_of})
    ]


def stopped_raters(comparison_id: int) -> dict[int, str]:
    """Return whose judgements do not count now, and their status."""
    return _stopped([comparison_id])[comparison_id]


def _stopped(comparisons: Sequence[int]) -> dict[int, dict[int, str]]:
    stopped: dict[int, dict[int, str]] = {comparison: {} for comparison in comparisons}
    statuses = RaterStatus.objects.filter(comparison__in=comparisons).exclude(state=RaterState.RESTORED)
    for comparison, person, state in statuses.values_list("comparison", "person", "state"):
        stopped[comparison][person] = state
    return stopped


def _pairs(comparisons: Sequence[int]) -> QuerySet[Pair]:
    return Pair.objects.filter(comparison__in=comparisons).order_by()


def _answered(comparisons: Sequence[int], kind: TrialKind) -> QuerySet[Judgement]:
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
    named = Image.objects.filter(pk__in=_pairs(comparisons).values("image"), extra__has_key=REGION)
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


def _count_by_region(images: Sequence[int], region_of: Mapping[int, str] | None) -> dict[str, int]:
    return dict(Counter(region_of.get(image, "") for image in images)) if region_of else {}


def _checks(comparison: Comparison, name_of: NameOf) -> dict[str, list[bool]]:
    """Return whether a rater failed, for each attention item in time, by the rater's pseudonym."""
    failures: dict[str, list[bool]] = defaultdict(list)
    for kind in (TrialKind.GOLD, TrialKind.REPEAT):
        done = _answered([comparison.pk], kind).filter(is_late=False)
        for person, score, first in done.values_list("person", "score", "repeated__score"):
            assert score is not None
            failures[name_of(person)].append(has_failed(kind, score, first))
    return failures


def comparisons_of(project: Project) -> list[Comparison]:
    """Return the comparisons that count in results, ordered as on their pages: by models, then by language."""
    comparisons = (
        Comparison.objects.in_results()
        .filter(project=project)
        .select_related("project", "language", "pool", "base", "test", "collection")
    )
    return sorted(comparisons, key=lambda row: (row.base.name, row.test.name, row.language.english_name, row.pk))
