"""Read figures of single images: best, worst, largest disagreements with people, and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.images.models import CollectionImage, Image
from research.inference.models import ModelCaption
from research.scoring.models import Pass, Reference, Score, Scoring
from research.scoring.rules.packing import unpack_floats, unpack_integers


@dataclass(frozen=True)
class PerImage:
    """Primary keys of images and a figure of each, both of shape (n_images,)."""

    images: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.images)

    def best(self, count: int, *, start: int = 0) -> list[tuple[int, float]]:
        """List (image, value), the highest first; equal values in the order of the images."""
        return self._slice(np.argsort(-self.values, kind="stable"), start, count)

    def worst(self, count: int, *, start: int = 0) -> list[tuple[int, float]]:
        return self._slice(np.argsort(self.values, kind="stable"), start, count)

    def _slice(self, order: NDArray[np.intp], start: int, count: int) -> list[tuple[int, float]]:
        chosen = order[start : start + count]
        return list(zip(self.images[chosen].tolist(), self.values[chosen].tolist(), strict=True))


@dataclass(frozen=True)
class ImageDisagreement:
    """`gap` is the metric's relative rank of the image minus people's, both in [0, 1].

    Above 0 the metric thinks more of the caption than people do.
    """

    image_id: int
    value: float
    verdict: float
    gap: float


@dataclass(frozen=True)
class ImageTexts:
    """The model's caption of an image (empty if there is none) and the references by people."""

    image: Image
    key: str
    caption: str
    references: Sequence[str]


def per_image(scoring_pass: Pass, metric: str) -> PerImage | None:
    """Read the figures of one metric in a pass, or None if it has none."""
    content = Score.objects.filter(scoring_pass=scoring_pass, metric=metric, value__isnull=False).values_list(
        "values", "scoring_pass__image_ids"
    )
    row = content.first()
    return None if row is None else PerImage(unpack_integers(row[1]), unpack_floats(row[0]))


def shared_images(one: PerImage, other: PerImage) -> tuple[PerImage, PerImage]:
    """List the images that are in both, in the order of the first."""
    of_one, of_other = shared_places(one.images, other.images)
    images = one.images[of_one]
    return PerImage(images, one.values[of_one]), PerImage(images, other.values[of_other])


def shared_places(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the positions in either of the images that are in both, in the order of the first."""
    _images, of_one, of_other = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    order = np.argsort(of_one)
    return of_one[order], of_other[order]


def gains_by_image(test: PerImage, base: PerImage) -> PerImage:
    """Subtract `base` from `test`, for the images of both."""
    of_test, of_base = shared_images(test, base)
    return PerImage(of_test.images, of_test.values - of_base.values)


def disagreements(figures: PerImage, verdicts: Mapping[int, float]) -> list[ImageDisagreement]:
    """List images that people judged, the largest disagreement first.

    Metrics and people have scales of their own, so it is places that are compared: the share of these images that are
    below, equal ones counted half. `verdicts` are by image, higher where people think more of the same caption; where
    `figures` are gains of one model over another, they are verdicts on that pair.
    """
    judged = [place for place, image in enumerate(figures.images.tolist()) if image in verdicts]
    images, values = figures.images[judged], figures.values[judged]
    judged_values = np.array([verdicts[image] for image in images.tolist()], dtype=np.float64)
    gaps = _places(values) - _places(judged_values)
    order = np.argsort(-np.abs(gaps), kind="stable")
    return [ImageDisagreement(int(images[i]), float(values[i]), float(judged_values[i]), float(gaps[i])) for i in order]


def texts_of(scoring: Scoring, images: Iterable[int]) -> dict[int, ImageTexts]:
    """Read texts by image, in few queries; `scoring.references` must be loaded. An image removed since has no key.

    Images without a reference are left out, because only references show whether an image is assigned to somebody.
    """
    images = list(images)
    references = Reference.objects.filter(reference_set=scoring.references_id, image__in=images).texts_by_image()
    stored = ModelCaption.objects.filter(
        model=scoring.model_id, language=scoring.references.language_id, image__in=images
    )
    captions = dict(stored.values_list("image_id", "text"))
    entries = CollectionImage.objects.filter(collection=scoring.references.collection_id, image__in=images)
    keys = dict(entries.values_list("image_id", "key"))
    by_id = Image.objects.in_bulk(images)
    return {
        image: ImageTexts(by_id[image], keys.get(image, ""), captions.get(image, ""), references[image])
        for image in images
        if image in by_id and image in references
    }


def _places(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the share of all values below each one, equal ones counted half."""
    ordered = np.sort(values)
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / (2 * max(1, len(values))), dtype=np.float64)
