"""Options that name a collection."""

from __future__ import annotations

from core.images.models import Collection
from core.people.management.arguments import named_object
from core.people.models import Project
from core.people.permissions import usable_in


def collection_named(name: str, *, project: Project | None = None) -> Collection:
    """Find a collection by its slug, else by its name; if `project` is given, one that it may use."""
    return named_object(Collection.objects.filter(usable_in(project)), name, kind="collection", project=project)
