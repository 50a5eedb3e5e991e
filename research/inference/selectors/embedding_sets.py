"""Read embedding sets for researchers: their subjects, an image's neighbours, and the image in the centre."""

from __future__ import annotations

from collections.abc import Collection as AnyOf
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.core.cache import cache
from django.db.models import QuerySet
from numpy.typing import NDArray

from core.images.models import CollectionImage
from core.images.selectors import ServedImage, served_image
from core.images.selectors.filters import images_named
from core.people.models import User
from crosslens_metrics.named_vectors import SAME_WITHIN
from research.inference.models import EmbeddingSet, ModelCaption
from research.inference.permissions import embedding_sets_for
from research.inference.selectors.assigned_work import is_assigned
from research.inference.selectors.embeddings import BLOCK_NUMBERS, CollectionEmbeddings, nearest, open_set
from research.inference.selectors.gallery import hidden_from

NEIGHBOURS = 24
KEPT_S = 7 * 24 * 3600
NO_IMAGE = 0


@dataclass(frozen=True)
class SetImage:
    """An image of the set's collection. It has no `image` if it is assigned to the viewer.

    `caption` is what was put into a vector, empty where it was the image itself; `similarity` is the cosine.
    """

    key: str
    public_id: UUID | None
    image: ServedImage | None
    caption: str
    similarity: float | None = None


def embedding_sets(viewer: User) -> QuerySet[EmbeddingSet]:
    """List the sets, the newest first."""
    related = ("encoder", "run__collection", "run__project", "captions_of", "language")
    return embedding_sets_for(viewer).select_related(*related).order_by("-pk")


def image_with_key(embedding_set: EmbeddingSet, key: str) -> CollectionImage | None:
    """Find the only image that has this name."""
    entries = CollectionImage.objects.filter(collection=embedding_set.run.collection_id).select_related("image")
    # No database keeps a NUL, and PostgreSQL would not even look for one.
    if not key or "\0" in key:
        return None
    image = images_named([key], embedding_set.run.collection)[key].only
    return entries.filter(image=image).first() if image is not None else None


def entry_of(embedding_set: EmbeddingSet, public_id: UUID) -> CollectionImage | None:
    entries = CollectionImage.objects.filter(collection=embedding_set.run.collection_id).select_related("image")
    return entries.filter(image__public_id=public_id).first()


def neighbours(embedding_set: EmbeddingSet, image_id: int, viewer: User) -> list[SetImage]:
    """List the neighbours, the nearest first. None if the image is assigned to the viewer: they hint at its caption.

    Assigned images are left out of the neighbours of others, because that would reveal as much.

    Raises research.inference.selectors.embeddings.EmbeddingsUnavailableError. Raises KeyError where the image has no
    vector.
    """
    if hidden_from(viewer, [image_id]):
        return []
    assigned_ids = assigned_of(viewer, embedding_set)
    near = nearest(open_set(embedding_set), image_id, count=NEIGHBOURS + len(assigned_ids))
    similarity = {one.image: one.similarity for one in near if one.image not in assigned_ids}
    return set_images(embedding_set, list(similarity)[:NEIGHBOURS], viewer, similarity=similarity)


def assigned_of(viewer: User, embedding_set: EmbeddingSet) -> set[int]:
    """List the images of the set's collection that are assigned to `viewer`."""
    assigned = CollectionImage.objects.filter(is_assigned(viewer, "image"), collection=embedding_set.run.collection_id)
    return set(assigned.values_list("image_id", flat=True))


def centre(embedding_set: EmbeddingSet) -> int | None:
    """Find the image with the least mean cosine distance to all others; None if a vector is zero.

    Raises research.inference.selectors.embeddings.EmbeddingsUnavailableError.
    """
    key = f"centre-of-{embedding_set.digest}"
    kept: int | None = cache.get(key)
    if kept is None:
        kept = most_central_of_all(open_set(embedding_set)) or NO_IMAGE
        cache.set(key, kept, KEPT_S)
    return None if kept == NO_IMAGE else kept


def most_central_of_all(embeddings: CollectionEmbeddings) -> int | None:
    """Like `embeddings.representative` of all images, without having all vectors in memory."""
    count = len(embeddings.ids)
    total = sum(block.sum(axis=0) for block in _units(embeddings))
    if not count or not np.isfinite(total).all():
        return None
    nearness = np.concatenate([block @ total for block in _units(embeddings)])
    distances = (count - nearness) / max(1, count - 1)
    return int(embeddings.ids[np.flatnonzero(distances <= distances.min() + SAME_WITHIN)[0]])


def set_images(
    embedding_set: EmbeddingSet, images: AnyOf[int], viewer: User, *, similarity: Mapping[int, float] | None = None
) -> list[SetImage]:
    """List images of the set's collection in the order of `images`, without those removed since."""
    entries = CollectionImage.objects.filter(collection=embedding_set.run.collection_id, image__in=images)
    by_image = {entry.image_id: entry for entry in entries.select_related("image")}
    hidden, captions = hidden_from(viewer, by_image), _captions(embedding_set, by_image)
    return [
        SetImage("", None, None, "")
        if image in hidden
        else SetImage(
            key=by_image[image].key,
            public_id=by_image[image].image.public_id,
            image=served_image(by_image[image].image, viewer),
            caption=captions.get(image, ""),
            similarity=(similarity or {}).get(image),
        )
        for image in images
        if image in by_image
    ]


def _captions(embedding_set: EmbeddingSet, images: AnyOf[int]) -> dict[int, str]:
    if embedding_set.captions_of_id is None:
        return {}
    captions = ModelCaption.objects.filter(
        model=embedding_set.captions_of_id, language=embedding_set.language_id, image__in=list(images)
    )
    return dict(captions.values_list("image_id", "text"))


def _units(embeddings: CollectionEmbeddings) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of the vectors at length one. A zero vector becomes NaN."""
    step = max(1, BLOCK_NUMBERS // max(1, embeddings.vectors.shape[1]))
    for start in range(0, len(embeddings.ids), step):
        block = np.asarray(embeddings.vectors[start : start + step], dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            yield block / np.linalg.norm(block, axis=1, keepdims=True)
