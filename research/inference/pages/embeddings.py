"""Prepare embedding sets for pages: the central image, neighbours, and what cannot be shown yet."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from core.images.models import CollectionImage
from core.people.models import User
from research.inference.backends.registry import encoders
from research.inference.models import EmbeddingSet, Encoder, RunState
from research.inference.permissions import encoders_for
from research.inference.selectors import embedding_sets as selectors
from research.inference.selectors.embedding_sets import SetImage
from research.inference.selectors.embeddings import EmbeddingsUnavailableError


def encoder_lines(viewer: User) -> list[tuple[Encoder, str]]:
    """List the encoders with the titles of their kinds."""
    titles = {name: one.title for name, one in encoders().items()}
    shown = encoders_for(viewer).select_related("project").order_by("name")
    return [(encoder, titles.get(encoder.backend, encoder.backend)) for encoder in shown]


def set_page(embedding_set: EmbeddingSet, viewer: User) -> dict[str, Any]:
    """Find the image closest to all; `trouble` says why the vectors cannot be used, if they cannot."""
    trouble, centre = not_whole(embedding_set), None
    if not trouble:
        try:
            centre = selectors.centre(embedding_set)
        except EmbeddingsUnavailableError as error:
            trouble = str(error)
    images = selectors.set_images(embedding_set, [centre], viewer) if centre is not None else []
    is_without_centre = not trouble and centre is None
    return {"trouble": trouble, "centre": images[0] if images else None, "is_without_centre": is_without_centre}


def neighbours_page(embedding_set: EmbeddingSet, entry: CollectionImage, viewer: User) -> dict[str, Any]:
    """Find the neighbours of an image; `trouble` says why there are none, if so."""
    (image,) = selectors.set_images(embedding_set, [entry.image_id], viewer)
    near: list[SetImage] = []
    trouble = not_whole(embedding_set)
    if image.image is None:
        trouble = _(
            "This image is in a batch assigned to you. Its neighbours are hidden from you until you have "
            "submitted that batch."
        )
    if not trouble:
        try:
            near = selectors.neighbours(embedding_set, entry.image_id, viewer)
        except EmbeddingsUnavailableError as error:
            trouble = str(error)
        except KeyError:
            trouble = _("This image has no vector: it has no such caption, could not be read, or was added later.")
    return {"image": image, "near": near, "trouble": trouble}


def not_whole(embedding_set: EmbeddingSet) -> str:
    """Say why the vectors cannot be used, from the state of their run; empty if they are complete."""
    if embedding_set.file:
        return ""
    state = embedding_set.run.state
    if embedding_set.run.is_going:
        return _("The vectors are still being computed. When they are finished, you can look for similar images here.")
    if state == RunState.PAUSED:
        return _("The run that computes the vectors is paused. Resume it to finish them.")
    if state == RunState.CANCELLED:
        return _("The run that should have computed the vectors was cancelled. Start another run.")
    if state == RunState.FAILED:
        return _("The run that should have computed the vectors failed. Its page says why.")
    return _("The vectors are being assembled. Reload the page in a moment.")
