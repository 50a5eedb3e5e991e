"""Recognise the files of chosen candidates when they are imported into the collection of their selection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.utils.translation import gettext as _

from core.images.models import Collection, Image
from core.images.rules.image_checks import ImageRefusedError
from core.images.rules.manifests import ImageAttribution
from core.images.services.collections import put_in
from core.images.services.expected_images import ExpectedImage
from research.selection.models import Candidate, SelectedImage, Selection
from research.selection.selectors.selections import collections_of
from research.selection.services.selections import locked_selection

MAX_SOURCE_CHARACTERS = 1000


def chosen_candidate(collection: Collection, keys: Sequence[str], address: str) -> ExpectedImage | None:
    """Find the candidate that was chosen for `collection` and has this address or, if none has, one of these keys.

    Locks the selection. Returns None if the collection is not one of chosen candidates.

    Raises
    ------
    ImageRefusedError
        Where the candidate was not chosen or was exchanged.
    """
    selection = Selection.objects.filter(collection=collection, candidates__isnull=False).first()
    if selection is None:
        return None
    selection = locked_selection(selection, None)
    rows = selection.selected_images.select_related("candidate")
    named = sorted(rows.filter(key__in=keys), key=lambda row: len(row.key))
    row = rows.filter(candidate__address=address).first() or (named[-1] if named else None)
    if row is None or row.candidate is None:
        raise ImageRefusedError(
            _("The selection has no image with this key or address. Name the file as the key of one of its images.")
        )
    candidate = row.candidate
    return ExpectedImage(row.key, candidate.checksum, _attribution(candidate), partial(_take, selection, row))


def _take(selection: Selection, row: SelectedImage, image: Image, path: str, is_new: bool) -> None:
    same = selection.selected_images.filter(image=image).exclude(pk=row.pk).first()
    if same is not None:
        text = _("“%(key)s” is the same image as “%(other)s”. Exchange one of them.")
        raise ImageRefusedError(text % {"key": row.key, "other": same.key})
    row.image = image
    row.save(update_fields=["image"])
    for collection in collections_of(selection, row.language_id):
        if collection != selection.collection:
            put_in(collection, image, keys=[row.key], path=path, is_new=is_new)


def _attribution(candidate: Candidate) -> ImageAttribution:
    names = ("title", "author", "licence", "licence_url", "latitude", "longitude")
    source = candidate.address if len(candidate.address) <= MAX_SOURCE_CHARACTERS else ""
    return ImageAttribution(key=candidate.key, source=source, **{name: getattr(candidate, name) for name in names})
