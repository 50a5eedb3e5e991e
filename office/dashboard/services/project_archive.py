"""Rename a project, archive it and restore it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.rules.campaign import UnfinishedBatches
from annotation.services.campaign import UnfinishedBatchesError
from core.allocation.models import Batch, BatchState
from core.allocation.services.lifecycle import expire_batches, return_batches
from core.allocation.services.locks import lock_pools
from core.people.models import Project, ProjectDeletion, User
from core.people.services import audit_log
from office.dashboard.selectors.project_contents import pools_of


class LifecycleError(Exception):
    """The project cannot be changed so; the message says why and what to do."""


def rename_project(*, project: Project, name: str, description: str, by: User, now: datetime) -> None:
    """Change the name and the description; the short name in addresses stays, so that links keep working."""
    with transaction.atomic():
        audit_log.lock(project, by)
        project.refresh_from_db()
        before = {"name": project.name, "description": project.description}
        after = {"name": name, "description": description}
        if before == after:
            return
        Project.objects.filter(pk=project.pk).update(**after)
        audit_log.record(
            project=project,
            action="project.renamed",
            about=project.slug,
            by=by,
            now=now,
            details={"before": before, "after": after},
        )
    project.name, project.description = name, description


def archive_project(*, project: Project, by: User, now: datetime, assigned: UnfinishedBatches | None = None) -> Project:
    """Archive a project: from then on nobody gets work in it. `assigned` says what happens to unfinished batches.

    Repeating it changes nothing.

    Raises
    ------
    UnfinishedBatchesError
        There are unfinished batches, and `assigned` was not given.
    """
    with transaction.atomic():
        # Who is assigned a batch of a pool meanwhile has it before this, and counts; the next is refused.
        batches = Batch.objects.filter(pool__in=lock_pools(pools_of(project)))
        expire_batches(batches=batches, now=now)
        unfinished = list(batches.filter(state=BatchState.OPEN).select_related("person"))
        if unfinished and assigned is None:
            raise UnfinishedBatchesError(unfinished, _("Choose whether people finish them or they are returned."))
        if assigned == UnfinishedBatches.RETURN:
            return_batches(batches=batches, now=now)
        audit_log.lock(project, by)
        if Project.objects.filter(pk=project.pk, archived_at=None).update(archived_at=now):
            details = {"batches": len(unfinished), "assigned": str(assigned) if unfinished and assigned else ""}
            audit_log.record(
                project=project, action="project.archived", about=project.slug, by=by, now=now, details=details
            )
    project.refresh_from_db()
    return project


def restore_project(*, project: Project, by: User, now: datetime) -> None:
    """Take a project out of the archive, with rounds, invitations and batches as they were. Repeating changes nothing.

    Raises
    ------
    LifecycleError
        If its deletion was asked for.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        if ProjectDeletion.objects.filter(project=project).exists():
            raise LifecycleError(_("This project is being deleted. It cannot be restored any more."))
        if Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None):
            audit_log.record(project=project, action="project.restored", about=project.slug, by=by, now=now)
    project.refresh_from_db()
