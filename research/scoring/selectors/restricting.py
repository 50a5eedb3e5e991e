"""Compute figures over some of the images of a pass from what is stored for each image."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.core.cache import cache
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.reports.figures import UndefinedScore, value_or_reason
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.signatures import Signature
from research.scoring.models import Pass, Reference, Score
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.selectors.scores import ScoreCell
from research.scoring.selectors.some_figures import (
    KEPT_S,
    MIN_IMAGES,
    OF_A_PAGE,
    ComputingBudget,
    SomeFigures,
    depends_on_others,
    digest_of,
    figures_in,
    intervals_of,
    is_within,
    own_cider,
    saying_frequencies_are_kept,
)
from research.selection.models import PlaceLevelChoice
from research.selection.rules.image_filters import ALL_IMAGES, FilterKind, FilterTerm, ImageFilter
from research.selection.selectors.subsets import images_of, newest_choices

DIGEST_DIGITS = 12


@dataclass(frozen=True)
class LevelRow:
    """The figures of a scoring over the images chosen from one level."""

    label: str
    images: int
    cells: Sequence[ScoreCell]

    @property
    def is_too_small(self) -> bool:
        """Whether it has too few images for intervals."""
        return self.images < MIN_IMAGES


@dataclass(frozen=True)
class ImageRestriction:
    """The images that a filter leaves in each language, looked up once."""

    filter: ImageFilter
    images_in: Callable[[str], NDArray[np.int64] | None]

    def mask(self, image_ids: NDArray[np.int64], tag: str) -> NDArray[np.bool_]:
        images = self.images_in(tag)
        return np.ones(len(image_ids), dtype=bool) if images is None else np.isin(image_ids, images)

    def signature(self, signature: str, image_ids: NDArray[np.int64]) -> str:
        """Say in a signature which images a figure is over, so that it is compared only with figures over the same."""
        if self.filter.is_all:
            return signature
        known = Signature.parse(signature)
        images = f"{self.filter};n={len(image_ids)};{digest_of(image_ids)[:DIGEST_DIGITS]}"
        return str(Signature(known.metric, (*known.settings, ("images", images))))


@dataclass(frozen=True)
class PartOfPass:
    """Some of the images of a pass: `image_ids` are of all, and `mask` is true for those."""

    scoring_pass: Pass
    image_ids: NDArray[np.int64]
    mask: NDArray[np.bool_]

    @property
    def images(self) -> int:
        return int(self.mask.sum())


def restriction(filter: ImageFilter, *, project: Project) -> ImageRestriction:
    found: dict[str, NDArray[np.int64] | None] = {}

    def images_in(tag: str) -> NDArray[np.int64] | None:
        if tag not in found:
            images = images_of(filter, project=project, language=Language.objects.get(pk=tag))
            # Not `images and …`, which would read the images themselves.
            found[tag] = None if images is None else np.fromiter(images.values_list("pk", flat=True), dtype=np.int64)
        return found[tag]

    return ImageRestriction(filter, images_in)


def restricted_figures(
    cells: Sequence[ScoreCell], *, project: Project, filter: ImageFilter, budget: ComputingBudget = OF_A_PAGE
) -> list[ScoreCell]:
    """Compute the figures of `cells` over the images that the filter leaves.

    All are what the metric gives on these images alone. Of figures that depend on the references of other images, as
    CIDEr does, so many are computed anew as `budget` allows; the others stay weighed by all images of their pass, and
    their signatures say so.

    Raises ImageFilterError if the filter cannot be applied to one of the languages.
    """
    return list(cells) if filter.is_all else _restricted(cells, restriction(filter, project=project), budget)


def by_level(cells: Sequence[ScoreCell], *, project: Project) -> list[LevelRow]:
    """Compute the figures of one scoring with their intervals over the images chosen from each level that has any."""
    if not cells or not newest_choices(project).exists():
        return []
    filters = {level: ImageFilter((FilterTerm(FilterKind.LEVEL, level.value),)) for level in PlaceLevelChoice}
    return [
        LevelRow(str(level.label), over[0].images, over)
        for level, filter in filters.items()
        if (over := with_intervals(cells, project=project, filter=filter)) and over[0].images
    ]


def with_intervals(
    cells: Sequence[ScoreCell], *, project: Project, filter: ImageFilter = ALL_IMAGES
) -> list[ScoreCell]:
    """Compute figures as `restricted_figures` does, with 95% bootstrap intervals over images, or why there are none."""
    return _restricted(cells, restriction(filter, project=project), OF_A_PAGE, are_intervals_wanted=True)


def figures_of_part(
    metric: str, stored: SomeFigures, part: PartOfPass, *, only: ImageRestriction, is_recomputed: bool
) -> SomeFigures:
    """Return the figures of part of a pass by one metric.

    Raises UndefinedFigureError if the metric is undefined on these images.
    """
    ids = part.image_ids[part.mask]
    over = replace(stored.of(part.mask), signature=only.signature(stored.signature, ids))
    if not depends_on_others(metric) or part.mask.all() or not part.mask.any():
        return over
    own = own_cider(part.scoring_pass, metric, ids) if is_recomputed else None
    if own is None:
        return replace(over, signature=saying_frequencies_are_kept(over.signature))
    return over.with_cider(*own)


def _restricted(
    cells: Sequence[ScoreCell], only: ImageRestriction, budget: ComputingBudget, *, are_intervals_wanted: bool = False
) -> list[ScoreCell]:
    by_pass: dict[int, list[ScoreCell]] = defaultdict(list)
    for cell in cells:
        by_pass[cell.pass_id].append(cell)
    passes = Pass.objects.filter(pk__in=by_pass).select_related("scoring__references__language").order_by("pk")
    parts = [_part(one, only) for one in passes]
    is_recomputed = _may_recompute(parts, by_pass, budget)
    references = {} if only.filter.is_all else _references_left(cells, only)
    figures: dict[tuple[int, str], ScoreCell] = {}
    for part in parts:
        of_pass = by_pass[part.scoring_pass.pk]
        known = _known(part, of_pass, only, is_recomputed=is_recomputed[part.scoring_pass.pk])
        intervals = _intervals(part, known) if are_intervals_wanted else {}
        for cell in of_pass:
            left = references.get(cell.reference_set_id, cell.images + cell.left_out)
            over = replace(cell, images=part.images, left_out=max(0, left - part.images), notes=_notes_over(cell, part))
            figures[cell.scoring_id, cell.metric] = _with_value(over, known[cell.metric], intervals.get(cell.metric))
    return [figures[cell.scoring_id, cell.metric] for cell in cells if (cell.scoring_id, cell.metric) in figures]


def _notes_over(cell: ScoreCell, part: PartOfPass) -> Sequence[str]:
    """The notes on all images of the pass, which say so where the figure is over some of them."""
    if part.mask.all():
        return cell.notes
    return [_("Over all images: %(note)s") % {"note": note} for note in cell.notes]


def _part(scoring_pass: Pass, only: ImageRestriction) -> PartOfPass:
    ids = unpack_integers(scoring_pass.image_ids)
    return PartOfPass(scoring_pass, ids, only.mask(ids, scoring_pass.scoring.references.language_id))


def _may_recompute(
    parts: Sequence[PartOfPass], cells: Mapping[int, Sequence[ScoreCell]], budget: ComputingBudget
) -> dict[int, bool]:
    """All figures or none, so that a page does not mix what cannot be compared."""
    images = sum(
        part.images for part in parts for cell in cells[part.scoring_pass.pk] if depends_on_others(cell.metric)
    )
    return {part.scoring_pass.pk: is_within(budget, part.scoring_pass, images) for part in parts}


def _known(
    part: PartOfPass, cells: Sequence[ScoreCell], only: ImageRestriction, *, is_recomputed: bool
) -> dict[str, SomeFigures | UndefinedScore | None]:
    """Read the figures of a pass by metric; None of a metric that was undefined on all its images."""
    rows = Score.objects.filter(scoring_pass=part.scoring_pass).values_list("metric", "signature", "values", "sums")
    stored = {
        metric: figures_in(signature, unpack_floats(values), unpack_floats(sums))
        for metric, signature, values, sums in rows
    }
    known: dict[str, SomeFigures | UndefinedScore | None] = {}
    for cell in cells:
        metric, figures = cell.metric, stored[cell.metric]
        known[metric] = None
        if cell.value is not None:
            known[metric] = value_or_reason(
                lambda metric=metric, figures=figures: figures_of_part(  # type: ignore[misc]
                    metric, figures, part, only=only, is_recomputed=is_recomputed
                )
            )
    return known


def _with_value(
    cell: ScoreCell, figures: SomeFigures | UndefinedScore | None, interval: Interval | UndefinedScore | None
) -> ScoreCell:
    if figures is None:
        return cell
    if isinstance(figures, UndefinedScore):
        return replace(cell, value=None, why=figures.message)
    cell = replace(cell, signature=figures.signature, notes=figures.notes or cell.notes)
    if not cell.images:
        return replace(cell, value=None, why=_("None of these images was scored."))
    value = value_or_reason(lambda: figures.value)
    if isinstance(value, UndefinedScore):
        return replace(cell, value=None, why=value.message)
    if isinstance(interval, UndefinedScore):
        return replace(cell, value=value, why_no_interval=interval.message)
    return replace(cell, value=value, interval=interval)


def _intervals(
    part: PartOfPass, known: Mapping[str, SomeFigures | UndefinedScore | None]
) -> dict[str, Interval | UndefinedScore]:
    """Compute the intervals once for a pass and its images, which no longer change."""
    figures = {metric: one for metric, one in known.items() if isinstance(one, SomeFigures)}
    if part.images < MIN_IMAGES:
        return {}
    signatures = hashlib.sha256("".join(one.signature for one in figures.values()).encode()).hexdigest()
    key = f"scoring-intervals-{part.scoring_pass.pk}-{digest_of(part.image_ids[part.mask])}-{signatures}"
    intervals: dict[str, Interval | UndefinedScore] | None = cache.get(key)
    if intervals is None:
        intervals = dict(zip(figures, intervals_of(list(figures.values())), strict=True))
        cache.set(key, intervals, KEPT_S)
    return intervals


def _references_left(cells: Sequence[ScoreCell], only: ImageRestriction) -> dict[int, int]:
    """Count the images with references that the filter leaves, by set."""
    languages = {cell.reference_set_id: cell.language for cell in cells}
    images: dict[int, set[int]] = {pk: set() for pk in languages}
    rows = Reference.objects.in_results().filter(reference_set__in=languages).order_by()
    for pk, image in rows.values_list("reference_set", "image").distinct().iterator():
        images[pk].add(image)
    return {
        pk: int(only.mask(np.fromiter(several, dtype=np.int64), languages[pk]).sum()) for pk, several in images.items()
    }
