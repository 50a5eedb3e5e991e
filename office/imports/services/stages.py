"""Do what an import is about to do: look through its files, import them, or undo it."""

from __future__ import annotations

from core.images.models import ImportJob, ImportKind, ImportStage
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Announce
from office.imports.services import file_imports, undoing


def run(*, job_id: int, clock: Clock, announce: Announce) -> None:
    """Do the next stage of a job, or continue it where a worker that died left it; close that of a dead command."""

    def work(job: ImportJob) -> None:
        if job.stage == ImportStage.PREVIEW:
            file_imports.look_through(job, clock=clock)
        elif job.stage == ImportStage.IMPORT:
            file_imports.import_uploaded(job, clock=clock, announce=announce)
        else:
            undoing.undo(job, now=clock())

    kind = ImportJob.objects.filter(pk=job_id).values_list("kind", flat=True).first()
    if kind is not None:
        import_jobs.run(job_id=job_id, kind=ImportKind(kind), clock=clock, work=work)
