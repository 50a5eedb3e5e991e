"""Background tasks of what spans apps. The row says what to do; a sweep sends lost messages again."""

from __future__ import annotations

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from dashboard.services import project_deletion


@shared_task
def delete_project(deletion_id: int) -> None:
    project_deletion.delete_project(deletion_id=deletion_id, now=timezone.now())
    project_deletion.remove_files(deletion_id=deletion_id, now=timezone.now())


@shared_task
def sweep_deletions() -> None:
    for deletion_id in project_deletion.unfinished():
        delete_project.delay(deletion_id)


def ask_for_deletion(deletion_id: int) -> None:
    transaction.on_commit(lambda: delete_project.delay(deletion_id), robust=True)
