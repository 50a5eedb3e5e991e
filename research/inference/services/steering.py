"""Steer what workers do, runs and trainings alike: keep their log, pause, resume and cancel them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import printable
from research.inference.models import UNFINISHED_STATES, Run, RunState, Training
from research.inference.services.tracebacks import shown_traceback


class WorkRefusedError(Exception):
    """A run or a training cannot be started or changed in this way; the message says why and what to do."""


def log_event(
    work: Run | Training,
    message: str,
    *,
    worker: str = "",
    is_warning: bool = False,
    traceback: str = "",
    now: datetime,
) -> None:
    """Write a line of the log. It never contains a caption's words."""
    work.events.create(
        at=now,
        worker=worker,
        is_warning=is_warning,
        message=printable(message),
        traceback=shown_traceback(traceback),
    )


def pause(work: Run | Training, *, now: datetime) -> None:
    """Pause the work. Workers store the batch that they are at; that of a training finishes the step.

    Raises WorkRefusedError.
    """
    _change_state(work, to=RunState.PAUSED, frm=UNFINISHED_STATES, message=_("Paused."), now=now)


def resume(work: Run | Training, *, now: datetime) -> None:
    """Resume the work. Then call `research.inference.tasks.ask_for_run` or `ask_for_training`.

    Raises WorkRefusedError.
    """
    to, values = RunState.QUEUED, dict[str, Any]()
    if isinstance(work, Run):
        check_not_retired(work)
        values = {"nudged_at": None}
    # A worker that has not stopped yet goes on; otherwise any may begin where the last one stopped.
    elif Training.objects.filter(pk=work.pk, lease_until__gt=now).exclude(holder="").exists():
        to, values = RunState.RUNNING, {"attempts": 0}
    else:
        values = {"attempts": 0, "lease_until": None, "holder": ""}
    _change_state(work, to=to, frm=(RunState.PAUSED, RunState.FAILED), message=_("Resumed."), now=now, **values)


def cancel(work: Run | Training, *, now: datetime) -> None:
    """Cancel the work for good. The results of a run stay; the checkpoints of a training are deleted.

    Raises WorkRefusedError.
    """
    frm = (*UNFINISHED_STATES, RunState.PAUSED, RunState.FAILED)
    _change_state(work, to=RunState.CANCELLED, frm=frm, message=_("Cancelled."), now=now)


def check_not_retired(run: Run) -> None:
    if run.model is not None and run.model.retired_at is not None:
        raise WorkRefusedError(_("“%(name)s” is retired. Restore it first.") % {"name": run.model.name})


def _change_state(
    work: Run | Training, *, to: RunState, frm: Sequence[str], message: str, now: datetime, **values: Any
) -> None:
    rows = type(work)._default_manager.filter(pk=work.pk, state__in=frm)
    if isinstance(work, Training):
        # Failed at the end of its time, it may have made a model all the same: that is the end of it.
        rows = rows.filter(model=None)
    with transaction.atomic():
        finished_at = now if to == RunState.CANCELLED else None
        if not rows.update(state=to, error="", finished_at=finished_at, **values):
            raise WorkRefusedError(_("Its state has changed in the meantime. Reload the page."))
        log_event(work, message, now=now)
    work.refresh_from_db()
