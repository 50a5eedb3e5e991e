"""Item sets, and switching items off."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from core.images.services.collections import create_collection
from core.people.models import Project, User
from core.people.services import audit_log
from gapgame.models import GapItem, ItemSet, Season


class ItemSetNameTakenError(Exception):
    """Another item set of the project has the name."""


def create_item_set(*, project: Project, name: str, by: User | None) -> ItemSet:
    """Make an empty item set, with a collection of its own for its images."""
    with transaction.atomic():
        audit_log.lock(project, by)
        if ItemSet.objects.filter(project=project, name=name).exists():
            raise ItemSetNameTakenError
        longest = ItemSet._meta.get_field("name").max_length
        collection = create_collection(name=f"{project.slug}: {name}"[:longest], project=project, by=by)
        return ItemSet.objects.create(project=project, name=name, collection=collection, created_by=by)


def item_set_named(*, project: Project, name: str) -> ItemSet:
    """Return the item set of this name, creating it if needed."""
    item_set = ItemSet.objects.filter(project=project, name=name).select_related("collection").first()
    return item_set or create_item_set(project=project, name=name, by=None)


def note_corpus(*, item_set: ItemSet, origin: Mapping[str, Any]) -> None:
    """Note that items of a set are from a corpus; once, if the same were drawn from it before."""
    with transaction.atomic():
        locked = ItemSet.objects.select_for_update(no_key=True).get(pk=item_set.pk)
        if origin not in locked.corpora:
            ItemSet.objects.filter(pk=locked.pk).update(corpora=[*locked.corpora, origin])


def use_item(*, item: GapItem, is_used: bool) -> None:
    """Switch the item on or off. Players' existing turns on it are kept."""
    GapItem.objects.filter(pk=item.pk).update(is_used=is_used)


def is_closed(item_set: ItemSet, now: datetime) -> bool:
    """Return whether a season has begun with these items, so that none may be added."""
    return Season.objects.filter(item_set=item_set, starts_at__lte=now).exists()
