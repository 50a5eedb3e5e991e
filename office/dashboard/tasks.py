"""Background tasks of what spans apps. The rows decide; the sweep sends lost messages again."""

from __future__ import annotations

from django.utils import timezone

from annotation.tasks import sweep_figures
from core.images.services import import_jobs
from core.jobs.tasks import do_all, job, shared_task
from core.people.models import ProjectDeletion
from core.people.services import answered_requests
from core.people.services.mails import post_by_server
from core.people.services.sessions import SessionStore
from office.dashboard.services import project_deletion
from office.dashboard.services.emails import NOTICES, queue_about_work, queue_digests, queue_notices
from research.inference.services import runs, trainings, worker_status
from research.scoring.tasks import sweep_scorings
from research.selection.tasks import sweep_places


@shared_task
def send_notice(notice_id: int) -> None:
    NOTICES.send(mail_id=notice_id, post=post_by_server, clock=timezone.now)


@shared_task
def sweep_changes() -> None:
    """Bring up to date what follows from changes: places of images, scores, and figures, which may take longest."""
    do_all([sweep_places, sweep_scorings, sweep_figures])


@shared_task
def sweep_occasions() -> None:
    """Queue e-mails about what is new."""
    now = timezone.now()
    queue_notices(now=now)
    queue_digests(now=now)


@shared_task
def sweep_hourly() -> None:
    """Look for people who have work again, for which the page of work of each is computed; and clean up."""
    now = timezone.now()
    do_all(
        [
            SessionStore.clear_expired,
            lambda: worker_status.delete_silent(now=now),
            lambda: runs.delete_old_trials(now=now),
            lambda: trainings.forget_cancelled(now=now),
            lambda: answered_requests.forget_old(now=now),
            lambda: import_jobs.discard_forgotten(now=now),
            lambda: queue_about_work(now=now),
        ]
    )


@shared_task
def delete_project(deletion_id: int) -> None:
    project_deletion.delete_project(deletion_id=deletion_id, now=timezone.now())
    project_deletion.remove_files(deletion_id=deletion_id, now=timezone.now())


job(send_notice, NOTICES.due)
ask_for_deletion = job(delete_project, ProjectDeletion.objects.filter(done_at=None))
