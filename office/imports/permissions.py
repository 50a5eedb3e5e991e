"""Who may see, steer and undo an import of files: from (user, slug, id) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.images.models import ImportJob, ImportKind
from core.images.permissions import imports_for, may_change
from core.people.models import Project, Role, User
from core.people.permissions import READERS, ManagersOnlyError, has_role, project_for

OF_MANAGERS = (ImportKind.ITEMS, ImportKind.PEOPLE, ImportKind.CANDIDATES)
"""Kinds that only managers of the project import, and so only they undo. Images: who may change their collection."""


def file_imports_of(user: User | AnonymousUser, project: Project) -> QuerySet[ImportJob]:
    """List imports of files for a project: its managers see all of them, researchers their own."""
    return imports_for(user).filter(project=project, kind=ImportKind.FILES)


def file_import_for(user: User | AnonymousUser, slug: str, job_id: int) -> ImportJob:
    """Raises Http404."""
    job = file_imports_of(user, project_for(user, slug, *READERS)).select_related("project").filter(pk=job_id).first()
    if job is None:
        raise Http404(_("There is no such import."))
    return job


def may_undo(user: User, job: ImportJob) -> bool:
    """Return whether `user` could now import every part of `job`, also where somebody else imported it."""
    parts = list(job.parts.select_related("collection"))
    is_manager = job.project is not None and has_role(user, job.project, Role.MANAGER)
    if not is_manager and any(part.kind in OF_MANAGERS for part in parts):
        return False
    collections = {part.collection for part in parts if part.kind == ImportKind.IMAGES and part.collection}
    return all(may_change(user, collection) for collection in collections)


def check_may_undo(user: User, job: ImportJob) -> None:
    """Raises ManagersOnlyError."""
    if not may_undo(user, job):
        raise ManagersOnlyError(_("Only managers of this project can do this."))
