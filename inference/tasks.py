"""Background work of the models. The rows are the truth; a message that is lost is sent again by a sweep."""

from __future__ import annotations

from typing import Any

from celery import Task, current_app, shared_task, signals
from celery.concurrency import get_implementation
from django.db import transaction
from django.utils import timezone

from images.models import ImportKind
from images.services import jobs
from inference.models import Run
from inference.services import executor, imports, routing, runs, trials, worker_status
from inference.services.heartbeat import heartbeat
from inference.services.works import work_of

MESSAGE_LIVES_S = 60
"""A worker that comes to it later finds that others have done the work, or another message. A message that is handed on
lives no longer than it would have."""

HAND_ON_AFTER_S = 1.0
"""Until a message is sent again that came to a worker without PyTorch, while one listens that has it."""

SHORT_SLICE_S = 20.0
"""Of a worker that does other work besides: pictures and imports need not wait for minutes."""


@shared_task
def run_caption_import(job_id: int) -> None:
    imports.run_import(job_id=job_id, clock=timezone.now)


@shared_task
def sweep_caption_imports() -> None:
    for job_id in jobs.jobs_waiting(kind=ImportKind.CAPTIONS, now=timezone.now()):
        run_caption_import.delay(job_id)


def ask_for_caption_import(job_id: int) -> None:
    """Have it run once the transaction is through. With the queue out of reach, the sweep does it later."""
    transaction.on_commit(lambda: run_caption_import.delay(job_id), robust=True)


@shared_task(bind=True)
def work_on(self: Task[..., None], run_id: int) -> None:
    if routing.is_run_for_another(run_id=run_id, now=timezone.now()):
        _hand_on(self, run_id, Run.objects.values_list("queue", flat=True).get(pk=run_id))
        return
    slice_s = executor.SLICE_S if heartbeat.queues == {worker_status.GPU} else SHORT_SLICE_S
    has_more = executor.work_on(
        run_id=run_id, work_of=work_of, worker=worker_status.name(), clock=timezone.now, slice_s=slice_s
    )
    if has_more:
        _send(run_id, Run.objects.values_list("queue", flat=True).get(pk=run_id))


@shared_task
def sweep_runs() -> None:
    for run_id, queue, wanted in runs.runs_waiting(now=timezone.now()):
        for _ in range(wanted):
            _send(run_id, queue)


@shared_task
def sweep_workers() -> None:
    worker_status.forget_the_silent(now=timezone.now())
    trials.forget_old(now=timezone.now())


@shared_task(bind=True)
def run_trial(self: Task[..., None], trial_id: int) -> None:
    if routing.is_trial_for_another(trial_id=trial_id, now=timezone.now()):
        _hand_on(self, trial_id, trials.queue_of(trial_id))
        return
    trials.run_trial(trial_id=trial_id, worker=worker_status.name(), clock=timezone.now)


@shared_task
def sweep_trials() -> None:
    for trial_id, queue in trials.trials_waiting(now=timezone.now()):
        run_trial.apply_async((trial_id,), queue=queue, expires=MESSAGE_LIVES_S)


def ask_for_run(run: Run) -> None:
    """Have workers begin or go on once the transaction is through; where no message can be sent, the sweep does it."""

    def send() -> None:
        for _ in range(runs.workers_wanted(run=run, now=timezone.now())):
            _send(run.pk, run.queue)

    transaction.on_commit(send, robust=True)


def ask_for_trial(trial_id: int) -> None:
    """Have it run once the transaction is through; where no message can be sent, the sweep does it."""
    queue = trials.queue_of(trial_id)
    transaction.on_commit(lambda: run_trial.apply_async((trial_id,), queue=queue, expires=MESSAGE_LIVES_S), robust=True)


def _send(run_id: int, queue: str) -> None:
    work_on.apply_async((run_id,), queue=queue, expires=MESSAGE_LIVES_S)


def _hand_on(task: Task[..., None], row_id: int, queue: str) -> None:
    expires = task.request.expires or MESSAGE_LIVES_S
    task.apply_async((row_id,), queue=queue, countdown=HAND_ON_AFTER_S, expires=expires)


@signals.worker_init.connect
def _prepare_process(sender: Any, **_about: Any) -> None:
    # Before they are forked off. A pool of another kind is one process, in which PyTorch may have all cores.
    is_forking = get_implementation(sender.pool_cls).__module__.endswith("prefork")
    worker_status.prepare_process(
        processes=sender.concurrency if is_forking and isinstance(sender.concurrency, int) else 1
    )


@signals.worker_process_init.connect
def _begin_to_beat(**_about: Any) -> None:
    heartbeat.start(queues=current_app.amqp.queues.consume_from)


@signals.worker_ready.connect
def _begin_to_beat_alone(sender: Any, **_about: Any) -> None:
    # A process that has forked others does no tasks itself.
    if not type(sender.pool).__module__.endswith("prefork"):
        _begin_to_beat()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def _beat_no_more(**_about: Any) -> None:
    heartbeat.stop()
