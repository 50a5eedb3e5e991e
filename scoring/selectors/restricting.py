"""Compute figures over some of the images of a pass from what is stored for each image."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from corpora.models import Level
from corpora.rules.image_filters import ImageFilter, Kind, Term
from corpora.selectors.subsets import images_of, newest_choices
from crosslens_metrics.reports.score_figures import Undefined, defined
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import statistic_of
from languages.models import Language
from people.models import Project
from scoring.models import Pass, Reference, Score
from scoring.rules.packing import unpack_floats, unpack_integers
from scoring.selectors.scores import ScoreCell

Floats = NDArray[np.float64]
DIGEST_DIGITS = 12


@dataclass(frozen=True)
class LevelRow:
    """The figures of a scoring over the images chosen from one level."""

    label: str
    images: int
    cells: Sequence[ScoreCell]


@dataclass(frozen=True)
class Restriction:
    """The images that a filter leaves in each language, looked up once."""

    filter: ImageFilter
    images_in: Callable[[str], NDArray[np.int64]]

    def mask(self, image_ids: NDArray[np.int64], tag: str) -> NDArray[np.bool_]:
        return np.isin(image_ids, self.images_in(tag))

    def signature(self, signature: str, image_ids: NDArray[np.int64]) -> str:
        """Say in a signature which images a figure is over, so that it is compared only with figures over the same."""
        known = Signature.parse(signature)
        digest = hashlib.sha256(np.sort(image_ids).astype("<i8").tobytes()).hexdigest()[:DIGEST_DIGITS]
        images = f"{self.filter};n={len(image_ids)};{digest}"
        return str(Signature(known.metric, (*known.settings, ("images", images))))


def restriction(filter: ImageFilter, *, project: Project) -> Restriction:
    found: dict[str, NDArray[np.int64]] = {}

    def images_in(tag: str) -> NDArray[np.int64]:
        if tag not in found:
            images = images_of(filter, project=project, language=Language.objects.get(pk=tag))
            found[tag] = np.array([] if images is None else list(images.values_list("pk", flat=True)), dtype=np.int64)
        return found[tag]

    return Restriction(filter, images_in)


def restricted(cells: Sequence[ScoreCell], *, project: Project, filter: ImageFilter) -> list[ScoreCell]:
    """Compute the figures of `cells` over the images that the filter leaves.

    A figure that is a mean of images is their mean, one that follows from sums follows from theirs; both are what the
    metric gives on these images alone. Where a metric depends on the references of other images, as CIDEr does by its
    document frequencies, those stay what they were: of all images of the pass, as its signature says.

    Raises
    ------
    ImageFilterError
        If the filter cannot be applied to one of the languages.
    """
    if filter.is_all:
        return list(cells)
    only = restriction(filter, project=project)
    by_pass: dict[int, list[ScoreCell]] = defaultdict(list)
    for cell in cells:
        by_pass[cell.pass_id].append(cell)
    references = _references_left(cells, only)
    figures: dict[tuple[int, str], ScoreCell] = {}
    packed = Pass.objects.filter(pk__in=by_pass).values_list("pk", "image_ids")
    for pass_id, image_ids in packed.iterator():
        of_pass = by_pass[pass_id]
        ids = unpack_integers(image_ids)
        mask = only.mask(ids, of_pass[0].language)
        left_out = references[of_pass[0].reference_set_id] - int(mask.sum())
        stored = {
            metric: (values, sums)
            for metric, values, sums in Score.objects.filter(scoring_pass=pass_id).values_list(
                "metric", "values", "sums"
            )
        }
        for cell in of_pass:
            changed = replace(
                cell,
                signature=only.signature(cell.signature, ids[mask]),
                images=int(mask.sum()),
                left_out=max(0, left_out),
            )
            figures[cell.scoring_id, cell.metric] = _over(changed, *stored[cell.metric], mask)
    return [figures[cell.scoring_id, cell.metric] for cell in cells if (cell.scoring_id, cell.metric) in figures]


def by_level(cells: Sequence[ScoreCell], *, project: Project) -> list[LevelRow]:
    """Compute the figures of one scoring over the images chosen from each level that has any."""
    if not cells or not newest_choices(project).exists():
        return []
    filters = {level: ImageFilter((Term(Kind.LEVEL, level.value),)) for level in Level}
    return [
        LevelRow(str(level.label), over[0].images, over)
        for level, filter in filters.items()
        if (over := restricted(cells, project=project, filter=filter)) and over[0].images
    ]


def figure_over(signature: str, values: Floats, sums: Floats, mask: NDArray[np.bool_]) -> float:
    """Compute one figure over the images where `mask` is true; of shape (n_images,), as `values`.

    Raises
    ------
    UndefinedFigureError
        If the metric is undefined on these images.
    """
    statistic = statistic_of(Signature.parse(signature))
    if statistic is None:
        return float(values[mask].mean())
    return float(statistic(sums.reshape(len(mask), -1)[mask].sum(axis=0, keepdims=True))[0])


def _over(cell: ScoreCell, values: Any, sums: Any, mask: NDArray[np.bool_]) -> ScoreCell:
    if not mask.any():
        return replace(cell, value=None, why=_("None of these images was scored."))
    if cell.value is None:
        return cell
    value = defined(lambda: figure_over(cell.signature, unpack_floats(values), unpack_floats(sums), mask))
    if isinstance(value, Undefined):
        return replace(cell, value=None, why=value.message)
    return replace(cell, value=value)


def _references_left(cells: Sequence[ScoreCell], only: Restriction) -> dict[int, int]:
    """Count the images with references that the filter leaves, by set."""
    languages = {cell.reference_set_id: cell.language for cell in cells}
    images: dict[int, set[int]] = {pk: set() for pk in languages}
    rows = Reference.objects.filter(reference_set__in=languages).values_list("reference_set", "image").order_by()
    for pk, image in rows.distinct().iterator():
        images[pk].add(image)
    return {
        pk: int(only.mask(np.fromiter(several, dtype=np.int64), languages[pk]).sum()) for pk, several in images.items()
    }
