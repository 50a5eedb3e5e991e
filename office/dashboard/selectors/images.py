"""All images of a project, with who described each, in which languages, at which levels, and what models wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import Count, Q, QuerySet

from annotation.models import Caption, Round, RoundKind, Verdict
from core.allocation.models import AssignmentState
from core.images.models import CollectionImage
from core.people.models import Project, User
from core.people.permissions import usable_in
from research.inference.models import ModelCaption
from sxs_eval.models import Comparison, Judgement, Pair, TrialKind

NONE, SOME, LACKING, ALL = "none", "some", "lacking", "all"
"""Whether an image is described at all, and in all languages of the project, or in those that are asked for."""


@dataclass(frozen=True)
class ImageQuery:
    """Which images are asked for; what counts is in `languages`, or else in all of the project.

    `find` are words of the key, file name or title; `author` and `source` words of those. `licence` is the whole
    licence, or `NONE`.
    """

    find: str = ""
    languages: Sequence[str] = ()
    person: int | None = None
    state: str = ""
    author: str = ""
    licence: str = ""
    source: str = ""

    @property
    def on_entries(self) -> Q:
        """The condition on entries of collections."""
        wanted = Q()
        for word in _words(self.find):
            named = Q(key__icontains=word) | Q(file_name__icontains=word) | Q(image__title__icontains=word)
            wanted &= named
        for name in ("author", "source"):
            for word in _words(getattr(self, name)):
                wanted &= Q(**{f"image__{name}__icontains": word})
        if licence := self.licence.replace("\0", " "):
            wanted &= Q(image__licence="" if licence == NONE else licence)
        return wanted


EVERY_IMAGE = ImageQuery()


def _words(text: str) -> list[str]:
    return text.replace("\0", " ").split()


@dataclass
class ImageWork:
    """What was done with an image: tags of languages by person, and how often each level was given."""

    captions: Counter[str] = field(default_factory=Counter)
    people: dict[int | None, list[str]] = field(default_factory=dict)
    english_levels: Counter[str] = field(default_factory=Counter)
    levels: Counter[str] = field(default_factory=Counter)
    models: list[str] = field(default_factory=list)
    judgements: int = 0


@dataclass
class ImageRow:
    """An image of a project in one of its collections, and how much there is of it. `work` is of those shown."""

    pk: int
    key: str
    image: int
    title: str
    author: str
    licence: str
    source: str
    languages: int
    captions: int
    models: int
    comparisons: int
    is_in_rounds: bool = False
    entry: CollectionImage | None = None
    work: ImageWork = field(default_factory=ImageWork)


class ProjectImages:
    """The images of the collections that belong to a project, or that its rounds and comparisons use."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.rounds = Round.objects.filter(project=project).exclude(kind=RoundKind.VERIFICATION)
        self.comparisons = Comparison.objects.filter(project=project)
        used = [one.values("collection") for one in (self.rounds, self.comparisons)]
        own = Q(collection__project=project)
        self.entries = CollectionImage.objects.filter(own | Q(collection__in=used[0]) | Q(collection__in=used[1]))

    @cached_property
    def tags(self) -> list[str]:
        return sorted(self.rounds.values_list("language", flat=True).distinct().order_by())

    @property
    def licences(self) -> list[str]:
        """Return the licences of the images; one is empty where an image has none."""
        return list(self.entries.order_by("image__licence").values_list("image__licence", flat=True).distinct())

    @property
    def captions(self) -> QuerySet[Caption]:
        return Caption.objects.counted().filter(round__in=list(self.rounds.values_list("pk", flat=True))).order_by()

    @property
    def authors(self) -> QuerySet[User]:
        tallied = self.rounds.filter(tallies__captions__gt=0).values("tallies__person")
        return User.objects.filter(pk__in=tallied).order_by("username")

    @property
    def model_captions(self) -> QuerySet[ModelCaption]:
        images = self.entries.values("image")
        return ModelCaption.objects.in_use().filter(usable_in(self.project, "model__"), image__in=images).order_by()

    def found(self, query: ImageQuery) -> list[ImageRow]:
        """Return the images that are asked for, with how much there is of each."""
        wanted = len(query.languages or self.tags)
        rows = self._rows(query)
        return [row for row in rows if _is_in(row, query.state, wanted) and (query.person is None or row.captions)]

    def _rows(self, query: ImageQuery) -> list[ImageRow]:
        captions, models, comparisons = self.captions, self.model_captions, self.comparisons
        if query.languages:
            captions = captions.filter(round__language__in=query.languages)
            models = models.filter(language__in=query.languages)
            comparisons = comparisons.filter(language__in=query.languages)
        if query.person is not None:
            captions = captions.filter(author=query.person)
        languages = Count("round__language", distinct=True)
        counted = captions.values_list("image").annotate(languages, Count("pk"))
        written = {image: (tags, number) for image, tags, number in counted}
        made = dict(models.values_list("image").annotate(Count("pk")))
        pairs = Pair.objects.filter(comparison__in=comparisons).order_by()
        compared = dict(pairs.values_list("image").annotate(Count("pk")))
        about = ("pk", "key", "image", "image__title", "image__author", "image__licence", "image__source")
        entries = self.entries.filter(query.on_entries).order_by("collection", "position")
        return [
            ImageRow(
                pk,
                key,
                image,
                title,
                author,
                licence,
                source,
                *written.get(image, (0, 0)),
                made.get(image, 0),
                compared.get(image, 0),
            )
            for pk, key, image, title, author, licence, source in entries.values_list(*about)
        ]

    def fill(self, rows: Sequence[ImageRow]) -> None:
        """Read the entries of some rows, and the work on them."""
        entries = CollectionImage.objects.select_related("image", "collection").in_bulk([row.pk for row in rows])
        own = set(self.rounds.values_list("collection", flat=True))
        work = self._work_on({row.image for row in rows})
        for row in rows:
            row.entry, row.work = entries[row.pk], work[row.image]
            row.is_in_rounds = row.entry.collection_id in own

    def _work_on(self, images: AbstractSet[int]) -> dict[int, ImageWork]:
        work = {image: ImageWork() for image in images}
        written = self.captions.filter(image__in=images).order_by("round__language")
        for image, tag, author, level in written.values_list("image", "round__language", "author", "item__rating"):
            one = work[image]
            one.captions[tag] += 1
            tags = one.people.setdefault(author, [])
            if tag not in tags:
                tags.append(tag)
            if level:
                one.english_levels[level] += 1
        done = Verdict.objects.filter(assignment__state=AssignmentState.DONE, caption__image__in=images)
        done = done.filter(caption__round__in=self.rounds).exclude(rating="").order_by()
        for image, level, number in done.values_list("caption__image", "rating").annotate(Count("pk")):
            work[image].levels[level] = number
        made = self.model_captions.filter(image__in=images).order_by("model__name")
        for image, model in made.values_list("image", "model__name").distinct():
            work[image].models.append(model)
        judged = Judgement.objects.filter(kind=TrialKind.PAIR, score__isnull=False, comparison__in=self.comparisons)
        judged = judged.filter(pair__image__in=images).order_by()
        for image, number in judged.values_list("pair__image").annotate(Count("pk")):
            work[image].judgements = number
        return work


def _is_in(row: ImageRow, state: str, wanted: int) -> bool:
    return {
        NONE: not row.captions,
        SOME: row.captions > 0,
        LACKING: row.languages < wanted,
        ALL: row.languages >= wanted,
    }.get(state, True)
