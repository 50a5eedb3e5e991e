"""Item sets and their items, as managers and researchers see them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from core.languages.models import Language
from core.people.models import Project
from gapgame.models import GapItem, ItemImage, ItemSet, Season, Turn, TurnOutcome


def item_sets_of(project: Project) -> QuerySet[ItemSet]:
    """List sets, newest first, with `seasons_count`, `size` and `used`: the numbers of items and of those in use."""
    return (
        ItemSet.objects.filter(project=project)
        .annotate(
            size=_count(GapItem.objects.all()),
            used=_count(GapItem.objects.filter(is_used=True)),
            seasons_count=_count(Season.objects.all()),
        )
        .order_by("-pk")
    )


def _count(rows: QuerySet[GapItem] | QuerySet[Season]) -> Coalesce:
    # Each in a query of its own: joined in one, items would be counted once for every season.
    counted = rows.filter(item_set=OuterRef("pk")).order_by().values("item_set").annotate(number=Count("pk"))
    return Coalesce(Subquery(counted.values("number"), output_field=IntegerField()), 0)


def facts_of(item_set: ItemSet) -> dict[str, Any]:
    """Count the items of a set and its images; `waiting` are those whose sizes are not made yet."""
    items = item_set.items.all()
    counts = items.aggregate(items=Count("pk"), used=Count("pk", filter=Q(is_used=True)))
    images = item_set.collection.images.aggregate(
        images=Count("pk"),
        unlicensed=Count("pk", filter=Q(licence="")),
        waiting=Count("pk", filter=~Q(state="done")),
    )
    names = {language.tag: language.name for language in Language.objects.all()}
    by_language = items.order_by("language").values_list("language").annotate(number=Count("pk"))
    by_split = items.order_by("split").values_list("split").annotate(number=Count("pk"))
    return {
        **counts,
        **images,
        "splits": [(f"intersect_{split}", number) for split, number in by_split],
        "languages": [(names[tag], number) for tag, number in by_language],
        "seasons": item_set.seasons.order_by("starts_at", "pk"),
    }


def items_of(
    item_set: ItemSet, *, language: Language | None = None, split: int | None = None, use: str = "", search: str = ""
) -> QuerySet[GapItem]:
    """List items in order of import, with `skips`; most skipped first if `use` is "skipped"."""
    skipped = Turn.objects.filter(item=OuterRef("pk"), outcome=TurnOutcome.SKIPPED)
    counted = skipped.order_by().values("item").annotate(number=Count("pk")).values("number")
    items = item_set.items.annotate(skips=Coalesce(Subquery(counted, output_field=IntegerField()), 0)).order_by("pk")
    if language is not None:
        items = items.filter(language=language)
    if split is not None:
        items = items.filter(split=split)
    if use == "skipped":
        items = items.filter(Exists(skipped)).order_by("-skips", "pk")
    elif use:
        items = items.filter(is_used=use == "1")
    if search:
        matches = Q(word__icontains=search) | Q(before__icontains=search) | Q(after__icontains=search) | Q(key=search)
        items = items.filter(matches)
    return items.select_related("language")


def with_images(items: QuerySet[GapItem]) -> QuerySet[GapItem]:
    """Load the images, the representative one first, and annotate how many are `unlicensed`."""
    entries = ItemImage.objects.order_by("position").select_related("image")
    unlicensed = Count("images", filter=Q(images__image__licence=""))
    return items.annotate(unlicensed=unlicensed).prefetch_related(Prefetch("images", queryset=entries))
