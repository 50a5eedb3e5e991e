"""Background tasks of what spans apps. The rows decide; sweeps send lost messages again."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from dashboard.services import project_deletion
from dashboard.services.notice_mails import NOTICES
from dashboard.services.notices import queue_about_work, queue_digests, queue_notices
from people.rules.queue import shared_task
from people.services.outbox import post_by_server


@shared_task
def send_notice(notice_id: int) -> None:
    NOTICES.send(mail_id=notice_id, post=post_by_server, clock=timezone.now)


@shared_task
def sweep_notices() -> None:
    """Send what is queued."""
    now = timezone.now()
    NOTICES.give_up_interrupted(now=now)
    for notice_id in NOTICES.due(now=now):
        send_notice.delay(notice_id)


@shared_task
def sweep_occasions() -> None:
    """Queue e-mails about what is new."""
    now = timezone.now()
    queue_notices(now=now)
    queue_digests(now=now)


@shared_task
def sweep_work() -> None:
    """Look for people who have work again: for each of them, their page of work is computed."""
    queue_about_work(now=timezone.now())


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
