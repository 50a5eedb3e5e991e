"""Take an image out of a collection into which it came by mistake."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from dashboard.selectors.collection_uses import uses_of_image
from images.models import Collection, CollectionImage
from images.services.collection_changes import CollectionUsedError
from people.models import User
from people.services import audit_log


def take_out_image(*, entry: CollectionImage, by: User, now: datetime) -> None:
    """Take an image out of its collection. The image stays stored, with what models wrote about it.

    Raises
    ------
    CollectionUsedError
        Something was made of it there.
    """
    with transaction.atomic():
        collection = Collection.objects.select_for_update(of=("self",)).get(pk=entry.collection_id)
        if uses_of_image(entry):
            raise CollectionUsedError(_("This image is in use, so it cannot be taken out."))
        CollectionImage.objects.filter(pk=entry.pk).delete()
        if collection.project is not None:
            audit_log.record(
                project=collection.project,
                action="collection.image-taken-out",
                about=collection.slug,
                by=by,
                now=now,
                details={"key": entry.key},
            )
