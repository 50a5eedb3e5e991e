"""Celery tasks of the models. The rows are the truth; the sweep sends lost messages again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from celery import Task, signals
from celery.concurrency import get_implementation
from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from core.jobs.tasks import current_app, job, shared_task
from research.inference.models import UNFINISHED_STATES, Run, Training
from research.inference.services import executor, routing, runs, training_worker, worker_status
from research.inference.services.worker_status import heartbeat

MESSAGE_LIFETIME_S = 60
"""By then, others have done the work or the sweep has sent another message. Forwarding does not prolong it."""

FORWARD_AFTER_S = 1.0
"""Delay before a message that came to a worker without PyTorch is sent again, for one that has it."""

SHORT_SLICE_S = 20.0
"""For a worker that also does other work, so that image sizes and imports do not wait for minutes."""


@shared_task(bind=True)
def work_on(self: Task[..., None], run_id: int) -> None:
    execute = partial(executor.execute_run, run_id=run_id, worker=worker_status.worker_name())
    is_elsewhere = routing.is_run_for_another(run_id=run_id, now=timezone.now())
    do_slice(self, Run, run_id, execute, is_elsewhere=is_elsewhere)


@shared_task(bind=True)
def train(self: Task[..., None], training_id: int) -> None:
    execute = partial(training_worker.execute_training, training_id=training_id, worker=worker_status.worker_name())
    is_elsewhere = routing.is_training_for_another(training_id=training_id, now=timezone.now())
    do_slice(self, Training, training_id, execute, is_elsewhere=is_elsewhere)


def do_slice(
    task: Task[..., None], model: type[Model], row_id: int, execute: Callable[..., bool], *, is_elsewhere: bool
) -> None:
    """Do a slice of the work on a row, and send a message for the rest; or send it on to a worker that it fits."""
    if is_elsewhere:
        resend_message(task, row_id, _queue_of(model, row_id))
    elif execute(clock=timezone.now, slice_s=_slice_here_s()):
        send_to_queue(task, model, row_id)


def send_to_queue(task: Task[..., None], model: type[Model], row_id: int) -> None:
    task.apply_async((row_id,), queue=_queue_of(model, row_id), expires=MESSAGE_LIFETIME_S)


def resend_message(task: Task[..., None], row_id: int, queue: str) -> None:
    """Send a message again, for a worker that it fits."""
    expires = task.request.expires or MESSAGE_LIFETIME_S
    task.apply_async((row_id,), queue=queue, countdown=FORWARD_AFTER_S, expires=expires)


def _queue_of(model: type[Model], row_id: int) -> str:
    return model._default_manager.values_list("queue", flat=True).get(pk=row_id)


def _slice_here_s() -> float:
    """How long this worker does one thing before others get their turn."""
    return executor.SLICE_S if heartbeat.queues == {worker_status.GPU} else SHORT_SLICE_S


def ask_for_run(run: Run) -> None:
    """Send messages to workers after the transaction commits; if none can be sent, the sweep sends them later."""

    def send() -> None:
        _send_to((run.pk, run.queue, runs.workers_wanted(run=run, now=timezone.now())))

    transaction.on_commit(send, robust=True)


def _send_to(waiting: tuple[int, str, int]) -> None:
    run_id, queue, wanted = waiting
    for _ in range(wanted):
        work_on.apply_async((run_id,), queue=queue, expires=MESSAGE_LIFETIME_S)


job(work_on, runs.runs_waiting, send=_send_to)
ask_for_training = job(
    train, Training.objects.filter(state__in=UNFINISHED_STATES), send=partial(send_to_queue, train, Training)
)


@signals.worker_init.connect
def _prepare_process(sender: Any, **_signal: Any) -> None:
    # Before the processes are forked. Other pools are one process, in which PyTorch may use all cores.
    is_forking = get_implementation(sender.pool_cls).__module__.endswith("prefork")
    worker_status.prepare_process(
        processes=sender.concurrency if is_forking and isinstance(sender.concurrency, int) else 1
    )


@signals.worker_process_init.connect
def _start_heartbeat(**_signal: Any) -> None:
    heartbeat.start(queues=current_app.amqp.queues.consume_from)


@signals.worker_ready.connect
def _start_single_heartbeat(sender: Any, **_signal: Any) -> None:
    # A process that forks others executes no tasks itself.
    if not type(sender.pool).__module__.endswith("prefork"):
        _start_heartbeat()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def _stop_heartbeat(**_signal: Any) -> None:
    heartbeat.stop()
