"""Images in a collection by mistake: taken out while nothing was made of them, or else left out of results."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Round
from annotation.services.tallies import figures_changed
from core.images.models import Collection, CollectionImage
from core.images.services.collections import CollectionUsedError, record_change
from core.people.models import User
from office.dashboard.selectors.project_contents import uses_of_image


def take_out_image(*, entry: CollectionImage, by: User, now: datetime) -> None:
    """Take an image out of its collection. The image stays stored, with what models wrote about it.

    Raises
    ------
    CollectionUsedError
        Something was made of it there.
    """
    with transaction.atomic():
        Collection.objects.select_for_update(of=("self",)).get(pk=entry.collection_id)
        if uses_of_image(entry):
            raise CollectionUsedError(_("This image is in use, so it cannot be taken out."))
        CollectionImage.objects.filter(pk=entry.pk).delete()
        record_change(entry.collection, "image-taken-out", by=by, now=now, key=entry.key)


def leave_out_image(*, entry: CollectionImage, reason: str, by: User, now: datetime) -> bool:
    """Leave an image out of what is computed over its collection from now on; False if it was left out already.

    Work on it that was given out or is open goes on and is kept. Releases that were requested stay as they are.
    """
    return _change(entry, excluded_at=now, reason=reason, by=by, now=now)


def count_image_again(*, entry: CollectionImage, by: User, now: datetime) -> bool:
    """Take an image into results again; False if it was not left out."""
    return _change(entry, excluded_at=None, reason="", by=by, now=now)


def _change(entry: CollectionImage, *, excluded_at: datetime | None, reason: str, by: User, now: datetime) -> bool:
    is_in = excluded_at is not None
    with transaction.atomic():
        others = CollectionImage.objects.filter(pk=entry.pk, excluded_at__isnull=is_in)
        if not others.update(excluded_at=excluded_at, exclusion_reason=reason):
            return False
        # Scores follow by themselves: the sweep sees that their images changed.
        rounds = Round.objects.filter(collection=entry.collection_id).order_by("pk")
        for round_id in rounds.values_list("pk", flat=True):
            figures_changed(round_id=round_id)
        details = {"reason": reason} if reason else {}
        what = "image-left-out" if is_in else "image-counted-again"
        record_change(entry.collection, what, by=by, now=now, key=entry.key, **details)
    return True
