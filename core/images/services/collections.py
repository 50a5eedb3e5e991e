"""Create, rename, duplicate and delete collections, put images into them, and note changes in the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from django.db import transaction
from django.db.models import Max, ProtectedError, Q, QuerySet
from django.utils.crypto import get_random_string
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage, Image, ImageName, ImportJob, ImportKind, ImportOutcome
from core.images.services import file_storage
from core.people.models import Project, User
from core.people.permissions import usable_in
from core.people.services import audit_log
from core.people.services.members import free_slug
from core.people.services.ownership import change_owner
from crosslens_metrics.formats.names import SUFFIXES, shortest_names, without_suffix
from crosslens_metrics.formats.records import printable

RESERVED_SLUGS = {"new"}
SLUG_CHARACTERS = 50
RANDOM_CHARACTERS = 8
OF_ADDRESSES = "abcdefghjkmnpqrstuvwxyz23456789"
KEY_CHARACTERS = 200
NAME_CHARACTERS = 500
FILE_NAME_CHARACTERS = 255


class KeyTakenError(Exception):
    """Another image has the key; the message says which, and what to do."""


def create_collection(
    *,
    name: str,
    description: str = "",
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None = None,
) -> Collection:
    """Create a collection with an address made from its name, numbered if another shared one has it.

    The address of one that is not shared ends by chance: no number tells that another project has such a name.
    """
    base = slugify(name)[: SLUG_CHARACTERS - RANDOM_CHARACTERS - 1].strip("-") or "collection"
    values = {"name": name, "description": description, "project": project, "is_shared": is_shared, "created_by": by}
    if not is_shared:
        return Collection.objects.create(slug=f"{base}-{get_random_string(RANDOM_CHARACTERS, OF_ADDRESSES)}", **values)
    with transaction.atomic():
        return Collection.objects.create(slug=free_slug(Collection, base, reserved=RESERVED_SLUGS), **values)


def find_or_create_collection(name: str, *, project: Project | None = None) -> Collection:
    """Find a collection by address or name, or create it: of `project`, or shared with all."""
    usable = Collection.objects.filter(usable_in(project))
    named = usable.filter(Q(project=project) if project else Q(is_shared=True), name=name)
    collection = usable.filter(slug=name).first() or named.first()
    return collection or create_collection(name=name, project=project, is_shared=project is None)


def give_collection(
    *, collection: Collection, project: Project | None, is_shared: bool, by: User | None, now: datetime
) -> None:
    """Change the owner of a collection and of its imports.

    Raises core.people.services.ownership.OwnerRefusedError.
    """
    with transaction.atomic():
        change_owner(things=[collection], project=project, is_shared=is_shared, by=by, now=now)
        of_images = ImportJob.objects.filter(collection=collection, kind=ImportKind.IMAGES)
        of_images.update(project=project)


def put_in(
    collection: Collection, image: Image, *, keys: Sequence[str], path: str, is_new: bool
) -> tuple[ImportOutcome, str]:
    """Put `image` into the collection; returns the outcome and the reason. Call within a transaction.

    Its key is the first of `keys` that is free. `path` is how its file was called, with its folders. If the image is
    there already, it gets these names too. The reason mentions that the image is stored already only if it is in a
    collection that these people may use.

    Raises KeyTakenError where other images of the collection have all of the keys.
    """
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    entries = CollectionImage.objects.filter(collection=collection)
    entry = entries.filter(image=image).first()
    taken = {key: other for key in keys if (other := _other_called(key, entries.exclude(image=image))) is not None}
    free = [key for key in keys if key not in taken]
    if not free:
        other = taken[keys[0]]
        text = _(
            "Another image in this collection has the key “%(key)s” (file “%(file)s”). Give this one "
            "another key in a manifest, or rename it."
        )
        raise KeyTakenError(text % {"key": other.key, "file": other.file_name or other.key})
    if entry is not None:
        return ImportOutcome.ALREADY, _named_too(entry, [free[0], path])
    position = (entries.aggregate(last=Max("position"))["last"] or 0) + 1
    entry = entries.create(
        collection=collection, image=image, key=free[0], file_name=file_name_of(path), position=position
    )
    if "/" in path:
        entry.names.create(name=path[-NAME_CHARACTERS:])
    if is_new or not _is_known_elsewhere(collection, image):
        return ImportOutcome.ADDED, ""
    return ImportOutcome.ADDED, _("The image is already stored for another collection. It is stored only once.")


def _is_known_elsewhere(collection: Collection, image: Image) -> bool:
    others = CollectionImage.objects.filter(image=image).exclude(collection=collection)
    known = Q(collection__is_shared=True)
    if collection.project_id is not None:
        known |= Q(collection__project=collection.project_id)
    return others.filter(known).exists()


def _other_called(key: str, others: QuerySet[CollectionImage]) -> CollectionImage | None:
    """The image among the `others` that has the key, or whose path it is but for the extension."""
    of_path = [key, *(key + suffix for suffix in SUFFIXES)]
    # Two questions: joined by OR, neither index would serve, and an import would take the longer the more there is.
    return others.filter(key=key).first() or others.filter(names__name__in=of_path).first()


def _named_too(entry: CollectionImage, names: Iterable[str]) -> str:
    """Give the image those names that it does not have yet; returns what there is to say of it."""
    known = [entry.key, entry.file_name, *entry.names.values_list("name", flat=True)]
    new = [name[-NAME_CHARACTERS:] for name in dict.fromkeys(names) if name and name not in known]
    for name in new:
        entry.names.create(name=name)
    if new:
        return _("The same image is already in this collection, as “%(key)s”. It is now also called “%(name)s”.") % {
            "key": entry.key,
            "name": new[0],
        }
    if entry.key in names:
        return _("The same image is already in this collection.")
    return _("The same image is already in this collection, as “%(key)s”.") % {"key": entry.key}


def copy_names(*, source: Collection, to: Collection) -> None:
    """Give images the further names that they have in another collection. Call within a transaction."""
    copies = dict(to.entries.values_list("image_id", "pk"))
    names = ImageName.objects.filter(entry__collection=source, entry__image_id__in=to.entries.values("image_id"))
    rows = names.values_list("entry__image_id", "name").iterator()
    ImageName.objects.bulk_create((ImageName(entry_id=copies[one], name=name) for one, name in rows), batch_size=1000)


def keys_of(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The keys that each of the files of an import may have without a manifest's, the shortest first."""
    shortest = shortest_names(paths)
    return {path: _keys(shortest[path], without_suffix(path)) for path in shortest}


def _keys(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(printable(name)[-KEY_CHARACTERS:] for name in names))


def file_name_of(path: str) -> str:
    return printable(PurePosixPath(path).name)[-FILE_NAME_CHARACTERS:]


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

    Raises CollectionUsedError where rounds, selections or anything else refers to it.
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
