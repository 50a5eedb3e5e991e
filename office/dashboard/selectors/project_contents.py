"""What is in a project, for those who archive, copy or delete it; and what uses a collection or an image."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Caption, CaptionTask, Release, Round, RoundKind
from core.allocation.models import Batch, BatchState, Pool
from core.images.models import Collection, CollectionImage
from core.jobs.models import JobState
from core.people.models import Consent, Membership, Owned, Project, User
from core.people.permissions import READERS
from gapgame.models import ItemImage, ItemSet, Season, Turn
from office.recruitment.selectors.costs import cost_rows, totals_of
from research.inference.models import CaptioningModel, Run
from research.scoring.models import Reference, ReferenceSet, Scoring
from research.selection.models import LanguageCollection, SelectedImage, Selection
from sxs_eval.models import Comparison, Pair


def contents_of(project: Project) -> dict[str, int]:
    """Count what a deletion would remove. It reads the work of everybody, so it is for pages that are seldom opened."""
    work = totals_of(cost_rows(project))
    return {
        "languages": Round.objects.filter(project=project).values("language").distinct().count(),
        "captions": Caption.objects.filter(round__project=project).count(),
        "ratings": work.ratings,
        "judgements": work.judgements,
        "turns": Turn.objects.filter(player__season__project=project).count(),
        "hours": round(work.hours),
        "people": Membership.objects.filter(project=project).values("user").distinct().count(),
        "consents": Consent.objects.filter(text__project=project).count(),
        "comparisons": Comparison.objects.filter(project=project).count(),
        "seasons": Season.objects.filter(project=project).count(),
        "references": ReferenceSet.objects.filter(project=project).count(),
        "scorings": Scoring.objects.filter(project=project).count(),
        "selections": Selection.objects.filter(project=project).count(),
        "releases": Release.objects.filter(project=project, state=JobState.DONE).count(),
    }


def pools_of(project: Project) -> QuerySet[Pool]:
    return Pool.objects.filter(Q(round__project=project) | Q(comparison__project=project))


def unfinished_batches(project: Project, *, now: datetime) -> int:
    batches = Batch.objects.filter(pool__in=pools_of(project), state=BatchState.OPEN, deadline__gt=now)
    return batches.count()


def owned_by(project: Project) -> list[Owned]:
    """List the collections, models and runs of a project: they stay when it is deleted."""
    kinds = (Collection.objects, CaptioningModel.objects, Run.objects)
    return list(chain.from_iterable(kind.filter(project=project) for kind in kinds))


def copyable(project: Project) -> tuple[list[Round], list[Owned]]:
    """Return the main rounds that can begin in another project, too, and what keeps the others from it.

    These are collections and models that are not shared with all.
    """
    mains = Round.objects.filter(project=project, kind=RoundKind.MAIN)
    mains = mains.select_related("language", "collection", "pool").prefetch_related("captioners")
    usable: list[Round] = []
    own: dict[tuple[type[Owned], int], Owned] = {}
    for main in sorted(mains, key=lambda main: main.language.english_name):
        needed: list[Owned] = [main.collection, *main.captioners.all()]
        missing = [one for one in needed if not one.is_shared]
        own |= {(type(one), one.pk): one for one in missing}
        if not missing:
            usable.append(main)
    return usable, list(own.values())


@dataclass(frozen=True)
class CollectionUse:
    """A kind of things that use a collection, how many there are, and the projects that they are of."""

    label: str
    number: int
    projects: list[str]


USERS: tuple[tuple[Any, Any, list[str], str], ...] = (
    (gettext_lazy("Rounds"), Round.objects, ["collection"], "project"),
    (gettext_lazy("Comparisons"), Comparison.objects, ["collection"], "project"),
    (gettext_lazy("Game sentences"), ItemSet.objects, ["collection"], "project"),
    (gettext_lazy("References"), ReferenceSet.objects, ["collection"], "project"),
    (gettext_lazy("Selections"), Selection.objects, ["source", "collection"], "project"),
    (
        gettext_lazy("Collections of a language in a selection"),
        LanguageCollection.objects,
        ["collection"],
        "selection__project",
    ),
    (gettext_lazy("Runs of models"), Run.objects.filter(trial_image=None), ["collection"], "project"),
)
"""Rows, the paths to collections that they use, and to their project."""

IMAGE_USERS: tuple[tuple[Any, Any, list[str]], ...] = (
    (gettext_lazy("Tasks of rounds"), CaptionTask.objects, ["round__collection"]),
    (gettext_lazy("Captions"), Caption.objects, ["round__collection"]),
    (gettext_lazy("Pairs of comparisons"), Pair.objects, ["comparison__collection"]),
    (gettext_lazy("References"), Reference.objects, ["reference_set__collection"]),
    (gettext_lazy("Game sentences"), ItemImage.objects, ["item__item_set__collection"]),
    (gettext_lazy("Selections"), SelectedImage.objects, ["selection__source", "selection__collection"]),
)
"""What was made of an image in its collection: rows, and the paths to the collection."""


def uses_of_image(entry: CollectionImage) -> list[CollectionUse]:
    return uses_of_images(entry.collection_id, [entry.image_id])


def uses_of_images(collection: int, images: Any) -> list[CollectionUse]:
    """List what was made of some images in a collection; `images` is a list of primary keys, or a query."""
    found = (
        (label, _using(rows, paths, collection).filter(image__in=images).count()) for label, rows, paths in IMAGE_USERS
    )
    return [CollectionUse(str(label), number, []) for label, number in found if number]


def uses_of(collection: Collection, viewer: User) -> list[CollectionUse]:
    """List what uses a collection, naming only projects of `viewer`."""
    mine = set(Membership.objects.filter(user=viewer, role__in=READERS).values_list("project", flat=True))
    uses = []
    for label, rows, paths, project in USERS:
        using = _using(rows, paths, collection.pk).order_by()
        if number := using.count():
            of_projects = using.exclude(**{project: None}).values_list(project, f"{project}__name").distinct()
            named = sorted(name for pk, name in of_projects if pk in mine)
            hidden = any(pk not in mine for pk, _name in of_projects)
            uses.append(CollectionUse(str(label), number, [*named, *([_("other projects")] if hidden else [])]))
    return uses


def _using(rows: Any, paths: list[str], collection: int) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.filter(Q(*((path, collection) for path in paths), _connector=Q.OR))
    return found
