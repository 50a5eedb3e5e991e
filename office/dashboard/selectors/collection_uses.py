"""What uses a collection or an image in it, and so keeps it from being deleted or taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Caption, CaptionTask, Round
from core.images.models import Collection, CollectionImage
from core.people.models import Membership, User
from core.people.permissions import READERS
from gapgame.models import ItemImage, ItemSet
from research.inference.models import Run
from research.scoring.models import Reference, ReferenceSet
from research.selection.models import LanguageCollection, SelectedImage, Selection
from sxs_eval.models import Comparison, Pair


@dataclass(frozen=True)
class CollectionUse:
    """A kind of things that use a collection, how many there are, and the projects that they are of."""

    label: str
    number: int
    projects: list[str]


USERS: tuple[tuple[Any, Callable[[Collection], QuerySet[Any]], str], ...] = (
    (gettext_lazy("Rounds"), lambda of: Round.objects.filter(collection=of), "project"),
    (gettext_lazy("Comparisons"), lambda of: Comparison.objects.filter(collection=of), "project"),
    (gettext_lazy("Game sentences"), lambda of: ItemSet.objects.filter(collection=of), "project"),
    (gettext_lazy("References"), lambda of: ReferenceSet.objects.filter(collection=of), "project"),
    (
        gettext_lazy("Selections"),
        lambda of: Selection.objects.filter(Q(source=of) | Q(collection=of)),
        "project",
    ),
    (
        gettext_lazy("Collections of a language in a selection"),
        lambda of: LanguageCollection.objects.filter(collection=of),
        "selection__project",
    ),
    (gettext_lazy("Runs of models"), lambda of: Run.objects.filter(collection=of, trial_image=None), "project"),
)


IMAGE_USERS: tuple[tuple[Any, Callable[[CollectionImage], QuerySet[Any]]], ...] = (
    (
        gettext_lazy("Tasks of rounds"),
        lambda one: CaptionTask.objects.filter(round__collection=one.collection_id, image=one.image_id),
    ),
    (
        gettext_lazy("Captions"),
        lambda one: Caption.objects.filter(round__collection=one.collection_id, image=one.image_id),
    ),
    (
        gettext_lazy("Pairs of comparisons"),
        lambda one: Pair.objects.filter(comparison__collection=one.collection_id, image=one.image_id),
    ),
    (
        gettext_lazy("References"),
        lambda one: Reference.objects.filter(reference_set__collection=one.collection_id, image=one.image_id),
    ),
    (
        gettext_lazy("Game sentences"),
        lambda one: ItemImage.objects.filter(item__item_set__collection=one.collection_id, image=one.image_id),
    ),
    (
        gettext_lazy("Selections"),
        lambda one: SelectedImage.objects.filter(
            Q(selection__source=one.collection_id) | Q(selection__collection=one.collection_id), image=one.image_id
        ),
    ),
)
"""What was made of an image in its collection."""


def uses_of_image(entry: CollectionImage) -> list[CollectionUse]:
    counts = ((label, users(entry).count()) for label, users in IMAGE_USERS)
    return [CollectionUse(str(label), number, []) for label, number in counts if number]


def uses_of(collection: Collection, viewer: User) -> list[CollectionUse]:
    """List what uses a collection, naming only projects of `viewer`."""
    mine = set(Membership.objects.filter(user=viewer, role__in=READERS).values_list("project", flat=True))
    uses = []
    for label, users, project in USERS:
        rows = users(collection).order_by()
        if number := rows.count():
            of_projects = rows.exclude(**{project: None}).values_list(project, f"{project}__name").distinct()
            named = sorted(name for pk, name in of_projects if pk in mine)
            hidden = any(pk not in mine for pk, _name in of_projects)
            uses.append(CollectionUse(str(label), number, [*named, *([_("other projects")] if hidden else [])]))
    return uses
