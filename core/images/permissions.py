"""Who may see, use and fill collections: from (user, slug) to the row, or 404, and the choices of forms."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage, ImportJob
from core.people.models import Membership, Project, Role, User
from core.people.permissions import check_reader, in_charge, in_reach, manages_anything, may_start_projects, usable_in

MANAGERS = (Role.MANAGER,)


def check_manager(user: User | AnonymousUser) -> None:
    """Raises Http404: the user manages no project."""
    if not manages_anything(user):
        raise Http404(_("There is no such page."))


def collections_for(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Collections that `user` may see as a manager or researcher: shared ones, and those of their projects."""
    check_reader(user)
    return collections_to_use(user)


def collections_to_use(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Collections that `user`, a manager or researcher, may see and have captioned by models."""
    return Collection.objects.filter(in_reach(user))


def collections_in(project: Project | None, *, by: User | None = None) -> QuerySet[Collection]:
    """Collections that `project` may use; without a project, those that `by` may start one with."""
    return Collection.objects.filter(usable_in(project, by=by))


def collection_for(user: User | AnonymousUser, slug: str) -> Collection:
    """Raises Http404: it does not exist, or the user neither manages a project that may use it nor does research in
    one.
    """
    collection = collections_for(user).select_related("project").filter(slug=slug).first()
    if collection is None:
        raise Http404(_("There is no such collection."))
    return collection


def collection_to_change(user: User | AnonymousUser, slug: str) -> Collection:
    """Find a collection of a project that `user` manages; a shared one can be used, but not changed.

    Raises Http404.
    """
    check_manager(user)
    collection = Collection.objects.select_related("project").filter(in_charge(user, roles=MANAGERS), slug=slug).first()
    if collection is None:
        raise Http404(_("There is no such collection."))
    return collection


def may_change(user: User | AnonymousUser, collection: Collection) -> bool:
    return Collection.objects.filter(in_charge(user, roles=MANAGERS), pk=collection.pk).exists()


def entry_of(collection: Collection, public_id: UUID) -> CollectionImage:
    """Find an image of a collection that somebody may see.

    Raises Http404.
    """
    entry = collection.entries.select_related("image").filter(image__public_id=public_id).first()
    if entry is None:
        raise Http404(_("There is no such image."))
    return entry


def is_of_others(user: User | AnonymousUser, image: str = "pk") -> Exists:
    """Return the condition that the image at `image` is also in a collection that `user` does not manage.

    What is stored about an image holds in all its collections, so `user` may fill in what is missing and nothing else.
    """
    managed = Collection.objects.filter(in_charge(user, roles=MANAGERS)).values("pk")
    return Exists(CollectionImage.objects.filter(image=OuterRef(image)).exclude(collection__in=managed))


def imports_for(user: User | AnonymousUser) -> QuerySet[ImportJob]:
    """Imports for projects that `user` manages, and imports by `user` for projects they belong to."""
    imports = ImportJob.objects.select_related("collection", "created_by")
    if may_start_projects(user):
        return imports
    mine = Membership.objects.filter(user=user.pk)
    managed = Q(project__in=mine.filter(role=Role.MANAGER).values("project"))
    still_there = Q(project=None) | Q(project__in=mine.values("project"))
    return imports.filter(managed | Q(still_there, created_by=user.pk))


def import_for(user: User | AnonymousUser, job_id: int) -> ImportJob:
    """An import of any kind.

    Raises Http404 also where it exists, for anybody else.
    """
    job = imports_for(user).filter(pk=job_id).first()
    if job is None:
        raise Http404(_("There is no such import."))
    return job
