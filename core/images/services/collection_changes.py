"""Rename, duplicate and delete a collection; what its project's audit log says of it."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.images.services import file_storage
from core.images.services.collections import copy_names, create_collection
from core.people.models import User
from core.people.services import audit_log

ENTRIES_PER_INSERT = 5000


class CollectionUsedError(Exception):
    """The collection cannot be deleted, because something uses it."""


def rename_collection(*, collection: Collection, name: str, description: str, by: User, now: datetime) -> None:
    """Change the name and the description; the address stays, so that links keep working."""
    before = {"name": collection.name, "description": collection.description}
    after = {"name": name, "description": description}
    with transaction.atomic():
        Collection.objects.filter(pk=collection.pk).update(**after)
        if before != after:
            record_change(collection, "renamed", by=by, now=now, before=before, after=after)


def duplicate_collection(*, collection: Collection, name: str, by: User, now: datetime) -> Collection:
    """Make a collection of the same images under the same keys, for the same project alone. Images are stored once."""
    with transaction.atomic():
        made = create_collection(name=name, description=collection.description, project=collection.project, by=by)
        columns = ("image_id", "key", "file_name", "position", "excluded_at", "exclusion_reason")
        entries = collection.entries.order_by("position").values(*columns)
        left = entries.iterator()
        while some := list(islice(left, ENTRIES_PER_INSERT)):
            CollectionImage.objects.bulk_create(CollectionImage(collection=made, **entry) for entry in some)
        copy_names(source=collection, to=made)
        record_change(collection, "duplicated", by=by, now=now, to=made.slug)
    return made


def delete_collection(*, collection: Collection, by: User, now: datetime) -> None:
    """Delete a collection with the reports of its imports. Its images stay stored.

    Raises
    ------
    CollectionUsedError
        Where rounds, selections or anything else refers to it.
    """
    folders = [folder for folder in collection.imports.values_list("folder", flat=True) if folder]
    try:
        with transaction.atomic():
            # New uses wait for this, and then find nothing.
            locked = Collection.objects.select_for_update(of=("self",)).get(pk=collection.pk)
            locked.delete()
            record_change(collection, "deleted", by=by, now=now)
    except ProtectedError as error:
        raise CollectionUsedError(_("This collection is in use, so it cannot be deleted.")) from error
    for folder in folders:
        file_storage.remove_all(folder)


def record_change(collection: Collection, what: str, *, by: User, now: datetime, **details: Any) -> None:
    """Note in the log of the collection's project, if it has one, what was done to the collection."""
    if collection.project is not None:
        audit_log.record(
            project=collection.project,
            action=f"collection.{what}",
            about=collection.slug,
            by=by,
            now=now,
            details=details,
        )
