"""Options that name a collection."""

from __future__ import annotations

from images.models import Collection
from people.management.arguments import named_object
from people.models import Project
from people.permissions import usable_in


def collection_named(name: str, *, project: Project | None = None) -> Collection:
    """Find a collection by its slug, else by its name; if `project` is given, one that it may use."""
    return named_object(Collection.objects.filter(usable_in(project)), name, kind="collection", project=project)
