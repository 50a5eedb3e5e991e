"""Making collections, and putting pictures into them."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify
from django.utils.translation import gettext as _

from corpus.models import Collection, CollectionImage, Image, Outcome
from corpus.rules.records import printable
from people.models import User

RESERVED_SLUGS = {"new"}
SLUG_CHARACTERS = 50
KEY_CHARACTERS = 200
FILE_NAME_CHARACTERS = 255


class KeyTaken(Exception):
    """The message tells which picture has the key, and what to do."""


def create_collection(*, name: str, description: str = "", by: User | None = None) -> Collection:
    """A collection with an address made from its name, numbered where that is taken."""
    base = slugify(name)[: SLUG_CHARACTERS - 6].strip("-") or "collection"
    with transaction.atomic():
        taken = set(Collection.objects.filter(slug__startswith=base).values_list("slug", flat=True)) | RESERVED_SLUGS
        slug, number = base, 1
        while slug in taken:
            number += 1
            slug = f"{base}-{number}"
        return Collection.objects.create(slug=slug, name=name, description=description, created_by=by)


def collection_named(name: str) -> Collection:
    """The collection whose address or name this is, made where there is none."""
    found = Collection.objects.filter(slug=name).first() or Collection.objects.filter(name=name).first()
    return found or create_collection(name=name)


def put_in(collection: Collection, image: Image, *, key: str, file_name: str, is_new: bool) -> tuple[Outcome, str]:
    """Put `image` into the collection under `key`; says what came of it and why. Call within a transaction.

    Raises
    ------
    KeyTaken
        Where another picture of the collection has the key.
    """
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    entries = CollectionImage.objects.filter(collection=collection)
    entry = entries.filter(image=image).first()
    if entry is not None:
        if entry.key == key:
            return Outcome.ALREADY, _("The same picture is in this collection already.")
        return Outcome.ALREADY, _("The same picture is in this collection already, as “%(key)s”.") % {"key": entry.key}
    taken = entries.filter(key=key).first()
    if taken is not None:
        raise KeyTaken(
            _(
                "The key “%(key)s” is that of another picture of this collection (file “%(file)s”). "
                "Give this one another key in a manifest, or rename it."
            )
            % {"key": key, "file": taken.file_name or key}
        )
    position = (entries.aggregate(last=Max("position"))["last"] or 0) + 1
    entries.create(collection=collection, image=image, key=key, file_name=file_name, position=position)
    return Outcome.ADDED, "" if is_new else _(
        "The picture was stored already, for another collection; it is kept once."
    )


def key_of(file_name: str) -> str:
    """The key of a picture that was given none: its file's name without the ending."""
    return printable(PurePosixPath(file_name).stem)[:KEY_CHARACTERS]


def file_name_of(path: str) -> str:
    return printable(PurePosixPath(path).name)[-FILE_NAME_CHARACTERS:]
