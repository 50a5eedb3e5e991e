"""The current scores of a project as files: figures with their signatures, and the figures of each image.

Values are on the metrics' own scales, in full. Order: by language, references, model; metrics as pages list them;
images by their position in the collection, those that left it last, under the hash of their image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from core.images.models import CollectionImage, Image
from core.people.models import Project
from research.scoring.models import Pass, Score, Scoring
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.selectors.restricting import (
    ImageRestriction,
    PartOfPass,
    figures_of_part,
    restricted_figures,
    restriction,
)
from research.scoring.selectors.scores import ScoreCell, metric_order, score_cells
from research.scoring.selectors.some_figures import OF_A_PAGE, ComputingBudget, figures_in, keeps_frequencies
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from tabular.downloads import as_iso

COLUMNS: Mapping[str, Callable[[Project, ScoreCell], Any]] = {
    "scoring": lambda project, cell: cell.scoring_id,
    "project": lambda project, cell: project.slug,
    "language": lambda project, cell: cell.language,
    "references": lambda project, cell: cell.reference_set,
    "model": lambda project, cell: cell.model,
    "tokenizer": lambda project, cell: cell.tokenizer,
    "normalise": lambda project, cell: cell.normalise,
    "metric": lambda project, cell: cell.metric,
    "value": lambda project, cell: cell.value,
    "why_undefined": lambda project, cell: cell.why,
    "signature": lambda project, cell: cell.signature,
    "notes": lambda project, cell: " ".join(cell.notes),
    "images": lambda project, cell: cell.images,
    "left_out": lambda project, cell: cell.left_out,
    "scored_at": lambda project, cell: as_iso(cell.finished_at) if cell.finished_at else None,
}
IMAGE_COLUMNS = ("scoring", "project", "language", "references", "model", "image")
"""Then one column for each metric; what these were computed by and on is in the file of figures, by `scoring`."""


def score_rows(
    project: Project, filter: ImageFilter = ALL_IMAGES, *, has_images: bool, budget: ComputingBudget = OF_A_PAGE
) -> tuple[Sequence[str], Iterator[dict[str, Any]]]:
    """Return columns and rows; of the figures of images those of one scoring are in memory at a time.

    Figures of images by CIDEr are weighed as those of the file of figures are, whose signatures say how.

    Raises ImageFilterError if the filter cannot be applied to one of the languages.
    """
    cells = restricted_figures(score_cells(project), project=project, filter=filter, budget=budget)
    if has_images:
        metrics = sorted({cell.metric for cell in cells}, key=metric_order)
        only = restriction(filter, project=project)
        return (*IMAGE_COLUMNS, *metrics), _image_rows(project, cells, metrics, only)
    return tuple(COLUMNS), ({name: value(project, cell) for name, value in COLUMNS.items()} for cell in cells)


def _image_rows(
    project: Project, cells: Iterable[ScoreCell], metrics: list[str], only: ImageRestriction
) -> Iterator[dict[str, Any]]:
    collections = dict(Scoring.objects.filter(project=project).values_list("pk", "references__collection"))
    known: dict[int, dict[int, str]] = {}
    for scoring_id, group in groupby(cells, key=lambda cell: cell.scoring_id):
        of_scoring = list(group)
        collection_id = collections.get(scoring_id)
        if collection_id is None:  # removed since the first lines were sent
            continue
        if collection_id not in known:
            known = {collection_id: _keys(collection_id)}
        yield from _rows_of(project, of_scoring, metrics, known[collection_id], only)


def _rows_of(
    project: Project, several: Sequence[ScoreCell], metrics: list[str], keys: Mapping[int, str], only: ImageRestriction
) -> Iterator[dict[str, Any]]:
    cell = several[0]
    done = Pass.objects.filter(pk=cell.pass_id).select_related("scoring__references").first()
    if done is None:
        return
    ids = unpack_integers(done.image_ids)
    mask = only.mask(ids, cell.language)
    columns = _columns(several, PartOfPass(done, ids, mask), only)
    place_of = {image: place for place, image in enumerate(ids[mask].tolist())}
    gone = Image.objects.filter(pk__in=[image for image in place_of if image not in keys]).order_by("sha256")
    named = {image: key for image, key in keys.items() if image in place_of}
    for image, key in (named | dict(gone.values_list("pk", "sha256"))).items():
        cells = (cell.scoring_id, project.slug, cell.language, cell.reference_set, cell.model, key)
        figures = (columns[metric][place_of[image]] if metric in columns else None for metric in metrics)
        yield dict(zip((*IMAGE_COLUMNS, *metrics), (*cells, *figures), strict=True))


def _columns(cells: Sequence[ScoreCell], part: PartOfPass, only: ImageRestriction) -> dict[str, list[float]]:
    """Read the figures of some images of a pass by metric."""
    rows = Score.objects.filter(scoring_pass=part.scoring_pass).values_list(
        "metric", "value", "signature", "values", "sums"
    )
    kept = {cell.metric: keeps_frequencies(cell.signature) for cell in cells}
    columns: dict[str, list[float]] = {}
    for metric, value, signature, values, sums in rows:
        if value is not None and metric in kept:
            stored = figures_in(signature, unpack_floats(values), unpack_floats(sums))
            over = figures_of_part(metric, stored, part, only=only, is_recomputed=not kept[metric])
            columns[metric] = over.values.tolist()
    return columns


def _keys(collection_id: int) -> dict[int, str]:
    entries = CollectionImage.objects.filter(collection=collection_id).order_by("position", "pk")
    return dict(entries.values_list("image_id", "key"))
