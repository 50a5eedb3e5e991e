"""What becomes of a run while workers are at it, and the lines of its log that tell so. Never a caption's words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import printable
from images.models import JobState
from inference.models import GOING, Chunk, Run, RunEvent, RunState
from inference.services.job_kind import Work

TOLD_FROM_S = 0.5
"""Loading that takes less is that of a model which is in memory already."""


def say(
    *, run: Run, message: str, worker: str = "", is_warning: bool = False, traceback: str = "", now: datetime
) -> None:
    RunEvent.objects.create(
        run=run,
        at=now,
        worker=worker,
        is_warning=is_warning,
        message=printable(message),
        traceback=printable(traceback),
    )


def loaded(*, run: Run, about: Mapping[str, str], took_s: float, batch_size: int, worker: str, now: datetime) -> None:
    """A worker has the model ready: the run has begun. `run.batch_size` is then what it is to be."""
    with transaction.atomic():
        found = Run.objects.filter(pk=run.pk)
        found.filter(state=RunState.QUEUED).update(state=RunState.RUNNING, started_at=Coalesce(F("started_at"), now))
        # Once something is stored, the size is known to fit; a new run has that of the model.
        found.filter(done=0, failed=0).update(batch_size=max(1, batch_size))
        if took_s >= TOLD_FROM_S or not run.events.filter(worker=worker).exists():
            said = "; ".join(f"{name}: {value}" for name, value in about.items())
            message = _("Model ready after %(seconds)s s. %(about)s") % {"seconds": f"{took_s:.1f}", "about": said}
            say(run=run, message=message, worker=worker, now=now)
    run.batch_size = found.values_list("batch_size", flat=True).get()


def halved(*, run: Run, size: int, worker: str, now: datetime) -> None:
    """Memory ran out: all workers of the run take smaller batches from here on."""
    with transaction.atomic():
        Run.objects.filter(pk=run.pk, batch_size__gt=size).update(batch_size=size)
        message = _("Memory ran out: from here on, batches have %(size)s images.") % {"size": size}
        say(run=run, message=message, worker=worker, is_warning=True, now=now)


def fail(*, run: Run, error: str, worker: str, traceback: str = "", now: datetime) -> None:
    """The run cannot go on until somebody puts something right and resumes it."""
    with transaction.atomic():
        found = Run.objects.filter(pk=run.pk, state__in=GOING)
        if found.update(state=RunState.FAILED, error=printable(error), finished_at=now):
            say(run=run, message=error, worker=worker, is_warning=True, traceback=traceback, now=now)


def end_if_whole(*, run: Run, work: Work, worker: str, now: datetime) -> None:
    """Close the run where nothing of it is left, by whichever worker comes to see that."""
    if _open_chunks(run):
        return
    work.whole(run)
    with transaction.atomic():
        found = Run.objects.select_for_update(no_key=True).filter(pk=run.pk, state__in=GOING).first()
        # Failed images are put back under the same lock.
        if found is None or _open_chunks(run):
            return
        has_made_nothing = found.failed == found.total
        found.state = RunState.FAILED if has_made_nothing else RunState.DONE
        found.error = _("Nothing was made: every image failed.") if has_made_nothing else ""
        found.finished_at = now
        # What other runs stored meanwhile was there when its turn came.
        found.already = found.total - found.done - found.failed
        found.save(update_fields=["state", "error", "finished_at", "already"])
        counts = {"done": found.done, "already": found.already, "failed": found.failed}
        said = _("Done: %(done)s made, %(already)s there already, %(failed)s failed.") % counts
        message = found.error or said
        say(run=run, message=message, worker=worker, is_warning=found.failed > 0, now=now)


def _open_chunks(run: Run) -> bool:
    return Chunk.objects.filter(run=run).exclude(state=JobState.DONE).exists()
