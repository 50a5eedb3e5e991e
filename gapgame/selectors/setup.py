"""Item sets and their items, and what a season can be made of: sentences with ready images, vectors for their words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import Project
from gapgame.models import GapItem, ItemImage, ItemSet, Season, SeasonLanguage, Turn, TurnOutcome
from research.inference.models import VectorKind, WordVectorSet
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of

MAX_NAMED = 20
"""How many words without a vector are named; all of them are counted."""

WORDS_AT_ONCE = 2000


@dataclass(frozen=True)
class PlayableSentences:
    """The sentences in use of one language, and how many have all images ready; `offered` are its vectors."""

    language: Language
    items: int
    ready: int
    offered: list[WordVectorSet]

    @property
    def waiting(self) -> int:
        return self.items - self.ready


@dataclass(frozen=True)
class UnscoredWords:
    """Words that score nothing unless guessed exactly. `why` if the vectors cannot be read at all."""

    language: Language
    vectors: WordVectorSet
    number: int = 0
    words: str = ""
    """The first of them, as they are in sentences."""
    why: str = ""


def playable_sets_of(project: Project) -> QuerySet[ItemSet]:
    """Return the sets of a project that have sentences in use, with how many, and in how many languages."""
    in_use = Q(items__is_used=True)
    sets = ItemSet.objects.filter(project=project).annotate(
        in_use=Count("items", filter=in_use), tongues=Count("items__language", filter=in_use, distinct=True)
    )
    return sets.filter(in_use__gte=1)


def playable_of(item_set: ItemSet) -> list[PlayableSentences]:
    """Return the languages of a set, those with the most sentences first."""
    items = GapItem.objects.filter(item_set=item_set, is_used=True).order_by()
    counts = dict(items.values_list("language").annotate(Count("pk")))
    ready = dict(with_ready_images(items).values_list("language").annotate(Count("pk")))
    offered = defaultdict(list)
    for vectors in WordVectorSet.objects.filter(language__in=counts).order_by("name", "pk"):
        offered[vectors.language_id].append(vectors)
    rows = [
        PlayableSentences(language, counts[language.pk], ready.get(language.pk, 0), offered[language.pk])
        for language in Language.objects.filter(pk__in=counts)
    ]
    return sorted(rows, key=lambda row: (-row.items, row.language.pk))


def with_ready_images(items: QuerySet[GapItem]) -> QuerySet[GapItem]:
    """Return those of `items` that have images, all of them in the sizes that are shown."""
    images = ItemImage.objects.filter(item=OuterRef("pk"))
    return items.filter(Exists(images)).exclude(Exists(images.exclude(image__state=JobState.DONE)))


def unscored_of(item_set: ItemSet, chosen: Mapping[str, WordVectorSet]) -> list[UnscoredWords]:
    """Return, for each language of `chosen`, by tag, the words in use that its vectors lack, if any."""
    languages = Language.objects.in_bulk(list(chosen))
    unscored = [_unscored(item_set, languages[tag], vectors) for tag, vectors in sorted(chosen.items())]
    return [row for row in unscored if row.number or row.why]


def vectors_chosen(season_id: int) -> dict[str, WordVectorSet]:
    """Group by language tag."""
    played = SeasonLanguage.objects.filter(season=season_id).select_related("vectors")
    return {row.language_id: row.vectors for row in played}


def _unscored(item_set: ItemSet, language: Language, vectors: WordVectorSet) -> UnscoredWords:
    try:
        table = vectors_of(vectors.signature)
    except WordVectorsUnavailableError as unavailable:
        return UnscoredWords(language, vectors, why=str(unavailable))
    if vectors.kind == VectorKind.ENCODER:
        return UnscoredWords(language, vectors)
    words = GapItem.objects.filter(item_set=item_set, language=language, is_used=True).order_by("word").distinct()
    known = words.values_list("word", flat=True).iterator(chunk_size=WORDS_AT_ONCE)
    missing = [word for word in known if table.vector(word) is None]
    said = ", ".join(missing[:MAX_NAMED])
    if len(missing) > MAX_NAMED:
        said = _("%(words)s and more") % {"words": said}
    return UnscoredWords(language, vectors, len(missing), said)


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
