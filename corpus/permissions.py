"""Who may see and fill the installation's collections: managers. Anybody else is told that nothing is there."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.utils.translation import gettext as _

from corpus.models import Collection, ImportJob
from people.models import User
from people.permissions import manages_anything


def check_manager(user: User | AnonymousUser) -> None:
    """
    Raises
    ------
    Http404
        For whoever manages no project.
    """
    if not manages_anything(user):
        raise Http404(_("There is no such page."))


def collection_for(user: User | AnonymousUser, slug: str) -> Collection:
    """
    Raises
    ------
    Http404
        Also where it exists, for whoever manages no project.
    """
    check_manager(user)
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        raise Http404(_("There is no such collection."))
    return collection


def import_for(user: User | AnonymousUser, job_id: int) -> ImportJob:
    """An import of any kind, for managers and for whoever began it.

    Raises
    ------
    Http404
        Also where it exists, for anybody else.
    """
    job = ImportJob.objects.select_related("collection", "created_by").filter(pk=job_id).first()
    if job is None or job.created_by_id != user.pk:
        check_manager(user)
    if job is None:
        raise Http404(_("There is no such import."))
    return job
