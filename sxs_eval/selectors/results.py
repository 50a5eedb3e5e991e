"""Figures of comparisons from the judgements that count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice

from django.db.models import Q

from core.images.models import CollectionImage, Image
from core.images.selectors import keys_in_order
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.reports.comparison import (
    build_report,
    decided,
    outcomes_by_group,
    signature_of,
)
from crosslens_metrics.reports.comparison_figures import RaterFigures, RegionOutcome, ReportedFigures
from crosslens_metrics.signatures import Signature
from research.selection.models import PlaceLevelChoice
from research.selection.selectors.subsets import newest_choices
from sxs_eval.models import Comparison, GoldPair, Pair, RaterStatus, TrialKind
from sxs_eval.rules.judging import has_failed
from sxs_eval.selectors.evidence import ComparisonEvidence, NameOf, answered, evidence_of, pairs_of
from sxs_eval.selectors.overview import scripted_raters

RESAMPLES = 10_000


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
    here = pairs_of([comparison.pk]).values("image")
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


def _count_by_region(images: Sequence[int], region_of: Mapping[int, str] | None) -> dict[str, int]:
    return dict(Counter(region_of.get(image, "") for image in images)) if region_of else {}


def _checks(comparison: Comparison, name_of: NameOf) -> dict[str, list[bool]]:
    """Return whether a rater failed, for each attention item in time, by the rater's pseudonym."""
    failures: dict[str, list[bool]] = defaultdict(list)
    for kind in (TrialKind.GOLD, TrialKind.REPEAT):
        done = answered([comparison.pk], kind).filter(is_late=False)
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
