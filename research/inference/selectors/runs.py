"""Read runs for researchers, by their counters alone: these are exact, and pages never count captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, QuerySet

from core.people.models import User
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.endpoint_options import prices_of
from research.inference.models import UNFINISHED_STATES, CaptioningModel, Run, RunEvent, RunFailure, RunState
from research.inference.permissions import models_for, runs_for
from research.inference.selectors import assigned_work
from research.inference.selectors.workers import WORKER_COMMAND, WorkerRow, worker_rows

NEWEST_LINES = 100
COMMONEST_REASONS = 10


@dataclass(frozen=True)
class RunRow:
    run: Run
    percent: int
    """Of what is to be there in the end, what was gone through. 100 only once nothing is left."""
    is_loading: bool
    """It is still queued, but a worker has claimed it and loads the model."""

    @property
    def is_going(self) -> bool:
        return self.run.state in UNFINISHED_STATES

    @property
    def processed(self) -> int:
        return processed_images(self.run)


@dataclass(frozen=True)
class RunDetails(RunRow):
    workers: Sequence[WorkerRow]
    """Those that are on it right now."""
    listeners: int
    """Workers that are there and take from its queue."""
    rate: float | None
    """Per second; of all workers over the last minute, or on average where none says its own. None: not known yet."""
    left: timedelta | None

    @property
    def took(self) -> timedelta | None:
        """From its start to its end; None until then."""
        run = self.run
        return run.finished_at - run.started_at if run.started_at and run.finished_at else None

    @property
    def command(self) -> str:
        """What starts a worker, where the run waits for one and none takes from its queue."""
        return "" if self.listeners or not self.is_going else WORKER_COMMAND.format(queue=self.run.queue)

    @property
    def can_resume(self) -> bool:
        # Where every image was tried and failed, trying again is what helps.
        is_over = self.run.already + self.run.done + self.run.failed >= self.run.total
        return self.run.state == RunState.PAUSED or (self.run.state == RunState.FAILED and not is_over)

    @property
    def cost(self) -> float | None:
        """In the currency of the model's prices; None where it has none."""
        model = self.run.model
        if model is None:
            return None
        options = model.translator.options if model.translator is not None else model.options
        try:
            prices = prices_of(options)
        except BackendSettingsError:
            return None
        return prices.cost((self.run.input_tokens, self.run.output_tokens)) if prices else None

    @property
    def can_cancel(self) -> bool:
        return self.is_going or self.run.state in (RunState.PAUSED, RunState.FAILED)

    @property
    def can_retry(self) -> bool:
        return bool(self.run.failed) and not self.is_going


@dataclass(frozen=True)
class RunLog:
    """The last lines of a run's log, the oldest first, and the number of lines before them."""

    lines: Sequence[RunEvent]
    before: int

    @property
    def last(self) -> int:
        return self.lines[-1].pk if self.lines else 0


def runs(viewer: User, model: CaptioningModel | None = None) -> QuerySet[Run]:
    """List the runs that `viewer` may see, or those of `model`, the newest first."""
    rows = runs_for(viewer).select_related("model", "encoder", "collection", "project").prefetch_related("languages")
    return rows if model is None else rows.filter(model=model)


def model_of_runs(model_id: int, viewer: User) -> CaptioningModel | None:
    return models_for(viewer).filter(pk=model_id).first()


def run_rows(runs: Sequence[Run], *, now: datetime) -> list[RunRow]:
    at_work = {row.worker.run_id for row in worker_rows(now=now) if row.is_there}
    return [RunRow(run, percent_of(run), run.state == RunState.QUEUED and run.pk in at_work) for run in runs]


def run_details(run: Run, *, now: datetime) -> RunDetails:
    """Read the details of `run`, a fresh row, with one query for its workers."""
    workers = worker_rows(now=now)
    on_it = [row for row in workers if row.worker.run_id == run.pk and row.is_there]
    rate = _rate(run, on_it, now) if run.state != RunState.QUEUED else None
    left = max(0, run.total - run.already - run.done - run.failed)
    return RunDetails(
        run=run,
        percent=percent_of(run),
        is_loading=run.state == RunState.QUEUED and bool(on_it),
        workers=on_it,
        listeners=sum(row.is_there and run.queue in row.queues for row in workers),
        rate=rate,
        left=timedelta(seconds=left / rate) if rate and left and run.state == RunState.RUNNING else None,
    )


def log_of(run: Run, *, is_whole: bool = False) -> RunLog:
    lines = list(run.events.order_by("-pk")[: None if is_whole else NEWEST_LINES + 1])
    if is_whole or len(lines) <= NEWEST_LINES:
        return RunLog(lines[::-1], 0)
    return RunLog(lines[NEWEST_LINES - 1 :: -1], run.events.count() - NEWEST_LINES)


def percent_of(run: Run) -> int:
    if not run.total:
        return 100 if run.state == RunState.DONE else 0
    return 100 * processed_images(run) // run.total


def processed_images(run: Run) -> int:
    """Count what exists or has failed; of a finished run that made nothing, only what exists."""
    has_made_nothing = run.state == RunState.FAILED and run.failed == run.total
    return run.already + run.done + (0 if has_made_nothing else run.failed)


def failures_of(run: Run, viewer: User) -> QuerySet[RunFailure]:
    """List the failures, without those of images that are assigned to `viewer`."""
    failures = run.failures.exclude(assigned_work.is_assigned(viewer, "image"))
    return failures.select_related("image", "language").order_by("pk")


def reasons_of(failures: QuerySet[RunFailure]) -> list[tuple[str, int]]:
    """Count the most common reasons for failures."""
    counts = failures.select_related(None).values_list("reason").annotate(number=Count("pk"))
    return list(counts.order_by("-number", "reason")[:COMMONEST_REASONS])


def _rate(run: Run, workers: Sequence[WorkerRow], now: datetime) -> float | None:
    reported = sum(row.worker.rate or 0.0 for row in workers)
    if reported and run.state == RunState.RUNNING:
        return reported
    if run.started_at is None or not run.done + run.failed:
        return None
    seconds = ((run.finished_at or now) - run.started_at).total_seconds()
    return (run.done + run.failed) / seconds if seconds > 0 else None
