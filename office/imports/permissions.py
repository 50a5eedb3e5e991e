"""Who may see and steer an import of files: from (user, slug, id) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.images.models import ImportJob, ImportKind
from core.images.permissions import imports_for
from core.people.models import Project, User
from core.people.permissions import READERS, project_for


def file_imports_of(user: User | AnonymousUser, project: Project) -> QuerySet[ImportJob]:
    """List imports of files for a project: its managers see all of them, researchers their own."""
    return imports_for(user).filter(project=project, kind=ImportKind.FILES)


def file_import_for(user: User | AnonymousUser, slug: str, job_id: int) -> ImportJob:
    """Raises Http404."""
    job = file_imports_of(user, project_for(user, slug, *READERS)).select_related("project").filter(pk=job_id).first()
    if job is None:
        raise Http404(_("There is no such import."))
    return job
