"""Item sets: creating one, switching items off, and choosing the image of the first hint by vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import F

from core.images.models import Collection, Image
from core.images.services.collections import create_collection
from core.people.models import Project, User
from core.people.services import audit_log
from gapgame.models import GapItem, ItemImage, ItemSet, RepresentativeSource, Season
from research.inference.models import EmbeddingSet
from research.inference.selectors.embeddings import newest_covering, representative, whole_sets

ITEMS_PER_TRANSACTION = 200
ASIDE = 16_000
"""Added to the positions of images while they change places: no two of an item may ever share one."""


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


def item_set_named(*, project: Project, name: str, by: User | None = None) -> ItemSet:
    """Return the item set of this name, creating it if needed."""
    item_set = ItemSet.objects.filter(project=project, name=name).select_related("collection").first()
    return item_set or create_item_set(project=project, name=name, by=by)


def remove_if_empty(item_set: ItemSet) -> None:
    """Delete a set without items and seasons, and its collection if that has no images."""
    if item_set.items.exists() or Season.objects.filter(item_set=item_set).exists():
        return
    collection = item_set.collection
    item_set.delete()
    if not collection.entries.exists():
        collection.imports.update(collection=None)
        collection.delete()


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


class ItemSetClosedError(Exception):
    """A season has begun with these items, so they cannot change."""


class CentralImages:
    """Finds the most central of some images by the newest set that has vectors of all of them."""

    def __init__(self, sets: Iterable[EmbeddingSet]) -> None:
        self._sets = list(sets)

    @classmethod
    def of_collections(cls, collections: Iterable[Collection], *, project: Project | int) -> CentralImages:
        """Take the sets that `project` may use."""
        return cls(whole_sets(collections=collections, project=project))

    def central_index_of(self, images: Sequence[int]) -> int | None:
        """Return the index of the most central image, given by primary keys; None if one has no vector or direction."""
        covering = newest_covering(images, self._sets)
        if covering is None:
            return None
        try:
            return representative(covering[1], images)
        except ValueError:
            return None

    def central_index_of_images(self, sha256s: Sequence[str]) -> int | None:
        """Do the same for images given by their files, which may be new to the platform."""
        if not self._sets:
            return None
        known = dict(Image.objects.filter(sha256__in=sha256s).values_list("sha256", "pk"))
        images = [known[one] for one in sha256s if one in known]
        return self.central_index_of(images) if len(images) == len(sha256s) else None


@dataclass(frozen=True)
class RepresentativeCounts:
    """How many items got another representative image, kept theirs, kept the one from their file, or lack vectors."""

    changed: int
    same: int
    named: int
    lacking: int


def choose_again(
    *,
    item_set: ItemSet,
    sets: Iterable[EmbeddingSet],
    is_named_too: bool = False,
    clock: Callable[[], datetime],
) -> RepresentativeCounts:
    """Choose the representative image of each item again, by `sets`.

    Items whose file named one keep it, unless `is_named_too`; so do those that lack vectors.

    Raises ItemSetClosedError where a season has begun. What was chosen before that stays.
    """
    central = CentralImages(sets)
    changed = same = named = lacking = 0
    for items in _some_at_a_time(item_set):
        with transaction.atomic():
            if is_closed(item_set, clock()):
                raise ItemSetClosedError
            moved: list[tuple[GapItem, int]] = []
            by_vectors = []
            for item in items:
                if item.representative_source == RepresentativeSource.FILE and not is_named_too:
                    named += 1
                    continue
                place = central.central_index_of([entry.image_id for entry in item.images.all()])
                if place is None:
                    lacking += 1
                    continue
                by_vectors.append(item.pk)
                same += not place
                if place:
                    moved.append((item, place))
            _put_first(moved)
            changed += len(moved)
            GapItem.objects.filter(pk__in=by_vectors).update(representative_source=RepresentativeSource.EMBEDDINGS)
    return RepresentativeCounts(changed, same, named, lacking)


def _some_at_a_time(item_set: ItemSet) -> Iterator[list[GapItem]]:
    keys = iter(list(GapItem.objects.filter(item_set=item_set).order_by("pk").values_list("pk", flat=True)))
    while chosen := list(islice(keys, ITEMS_PER_TRANSACTION)):
        yield list(GapItem.objects.filter(pk__in=chosen).order_by("pk").prefetch_related("images"))


def _put_first(moved: Sequence[tuple[GapItem, int]]) -> None:
    """Move an image of each item to its front; the others keep their order."""
    entries = []
    for item, place in moved:
        images = list(item.images.all())
        ordered = [images[place], *images[:place], *images[place + 1 :]]
        for position, entry in enumerate(ordered):
            entry.position = position
        entries += ordered
    ItemImage.objects.filter(item__in=[item for item, _place in moved]).update(position=F("position") + ASIDE)
    ItemImage.objects.bulk_update(entries, ["position"])
