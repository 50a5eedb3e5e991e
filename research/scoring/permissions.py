"""Who may set up and read scores: from (user, slug, id) to the row, or 404."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from core.images.models import CollectionImage
from core.people.models import Role, User
from core.people.permissions import READERS, project_for
from research.inference.selectors import assigned_work
from research.scoring.models import Reference, ReferenceSet, Scoring


def scoring_for(user: User | AnonymousUser, slug: str, scoring_id: int, *roles: Role) -> Scoring:
    """Find a scoring of the project `slug`, for its managers and researchers (or people with one of `roles`)."""
    project = project_for(user, slug, *(roles or READERS))
    scorings = Scoring.objects.select_related(
        "project", "model", "vectors", "references__language", "references__collection"
    )
    return get_object_or_404(scorings, pk=scoring_id, project=project)


def reference_set_for(user: User | AnonymousUser, slug: str, set_id: int, *roles: Role) -> ReferenceSet:
    project = project_for(user, slug, *(roles or READERS))
    reference_sets = ReferenceSet.objects.select_related("project", "collection", "language", "created_by")
    return get_object_or_404(reference_sets, pk=set_id, project=project)


def images_are_closed() -> str:
    return _(
        "You have an unfinished batch with images of this project, and this shows what was written about "
        "them. Submit that batch first, or ask somebody else."
    )


def has_assigned_images(user: User, reference_sets: Iterable[ReferenceSet]) -> bool:
    """Whether `user` writes about or judges an image of `reference_sets` right now: they must not read of it then."""
    sets = list(reference_sets)
    of_sets = Reference.objects.filter(reference_set__in=sets)
    collections = [one.collection_id for one in sets if one.is_without_captions]
    of_collections = CollectionImage.objects.filter(collection__in=collections)
    is_assigned = assigned_work.is_assigned(user, "image")
    return of_sets.filter(is_assigned).exists() or bool(collections and of_collections.filter(is_assigned).exists())
