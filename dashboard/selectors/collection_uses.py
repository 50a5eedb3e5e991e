"""What uses a collection, and so keeps it from being deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Round
from corpora.models import LanguageCollection, Selection
from gapgame.models import ItemSet
from images.models import Collection
from inference.models import Run
from people.models import Membership, User
from people.permissions import READERS
from scoring.models import ReferenceSet
from sxs_eval.models import Comparison


@dataclass(frozen=True)
class Use:
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
    (gettext_lazy("Runs of models"), lambda of: Run.objects.filter(collection=of), "project"),
)


def uses_of(collection: Collection, viewer: User) -> list[Use]:
    """List what uses a collection, naming only projects of `viewer`."""
    mine = set(Membership.objects.filter(user=viewer, role__in=READERS).values_list("project", flat=True))
    uses = []
    for label, users, project in USERS:
        rows = users(collection).order_by()
        if number := rows.count():
            of_projects = rows.exclude(**{project: None}).values_list(project, f"{project}__name").distinct()
            named = sorted(name for pk, name in of_projects if pk in mine)
            hidden = any(pk not in mine for pk, _name in of_projects)
            uses.append(Use(str(label), number, [*named, *([_("other projects")] if hidden else [])]))
    return uses
