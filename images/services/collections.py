"""Create collections, and put images into them."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath

from django.db import transaction
from django.db.models import Max, Q
from django.utils.crypto import get_random_string
from django.utils.text import slugify
from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import printable
from images.models import Collection, CollectionImage, Image, ImportJob, ImportKind, Outcome
from people.models import Project, User
from people.permissions import usable_in
from people.services.ownership import change_owner

RESERVED_SLUGS = {"new"}
SLUG_CHARACTERS = 50
RANDOM_CHARACTERS = 8
OF_ADDRESSES = "abcdefghjkmnpqrstuvwxyz23456789"
KEY_CHARACTERS = 200
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
        taken = set(Collection.objects.filter(slug__startswith=base).values_list("slug", flat=True)) | RESERVED_SLUGS
        slug, number = base, 1
        while slug in taken:
            number += 1
            slug = f"{base}-{number}"
        return Collection.objects.create(slug=slug, **values)


def collection_named(name: str, *, project: Project | None = None) -> Collection:
    """Find a collection by address or name, or create it: of `project`, or shared with all."""
    usable = Collection.objects.filter(usable_in(project))
    named = usable.filter(Q(project=project) if project else Q(is_shared=True), name=name)
    collection = usable.filter(slug=name).first() or named.first()
    return collection or create_collection(name=name, project=project, is_shared=project is None)


def give_collection(
    *, collection: Collection, project: Project | None, is_shared: bool, by: User | None, now: datetime
) -> None:
    """Change the owner of a collection and of its imports.

    Raises
    ------
    people.services.ownership.OwnerRefusedError
    """
    with transaction.atomic():
        change_owner(things=[collection], project=project, is_shared=is_shared, by=by, now=now)
        of_images = ImportJob.objects.filter(collection=collection, kind=ImportKind.IMAGES)
        of_images.update(project=project)


def put_in(collection: Collection, image: Image, *, key: str, file_name: str, is_new: bool) -> tuple[Outcome, str]:
    """Put `image` into the collection under `key`; returns the outcome and the reason. Call within a transaction.

    The reason mentions that the image is stored already only if it is in a collection that these people may use.

    Raises
    ------
    KeyTakenError
        Where another image of the collection has the key.
    """
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    entries = CollectionImage.objects.filter(collection=collection)
    entry = entries.filter(image=image).first()
    if entry is not None:
        if entry.key == key:
            return Outcome.ALREADY, _("The same image is already in this collection.")
        return Outcome.ALREADY, _("The same image is already in this collection, as “%(key)s”.") % {"key": entry.key}
    taken = entries.filter(key=key).first()
    if taken is not None:
        raise KeyTakenError(
            _(
                "Another image in this collection has the key “%(key)s” (file “%(file)s”). Give this one "
                "another key in a manifest, or rename it."
            )
            % {"key": key, "file": taken.file_name or key}
        )
    position = (entries.aggregate(last=Max("position"))["last"] or 0) + 1
    entries.create(collection=collection, image=image, key=key, file_name=file_name, position=position)
    if is_new or not _is_known_elsewhere(collection, image):
        return Outcome.ADDED, ""
    return Outcome.ADDED, _("The image is already stored for another collection. It is stored only once.")


def _is_known_elsewhere(collection: Collection, image: Image) -> bool:
    others = CollectionImage.objects.filter(image=image).exclude(collection=collection)
    known = Q(collection__is_shared=True)
    if collection.project_id is not None:
        known |= Q(collection__project=collection.project_id)
    return others.filter(known).exists()


def key_of(file_name: str) -> str:
    """Make a key for an image without one: its file name without the extension."""
    return printable(PurePosixPath(file_name).stem)[:KEY_CHARACTERS]


def file_name_of(path: str) -> str:
    return printable(PurePosixPath(path).name)[-FILE_NAME_CHARACTERS:]
