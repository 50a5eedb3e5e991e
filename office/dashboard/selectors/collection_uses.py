"""What uses a collection or an image in it, and so keeps it from being deleted or taken out."""

from __future__ import annotations

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
    found = (
        (label, _using(rows, paths, entry.collection_id).filter(image=entry.image_id).count())
        for label, rows, paths in IMAGE_USERS
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
