"""Background tasks of annotation. The row says what to do; a task only speeds it up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from celery import Task
from django.db import transaction
from django.utils import timezone

from annotation.models import GlossRequest, Release, Round, RoundKind
from annotation.services import figures, glosses, releases, rounds
from annotation.services.verification import fill_verification
from core.jobs.tasks import job, shared_task
from research.inference.tasks import do_slice, send_to_queue

WAITING = Round.objects.filter(awaits_tasks=True)


@shared_task
def fill_round(round_id: int) -> None:
    # Of several messages, the first one that comes does it.
    for kind in WAITING.filter(pk=round_id).values_list("kind", flat=True):
        fill = fill_verification if kind == RoundKind.VERIFICATION else rounds.fill_round
        fill(round_id=round_id)


_nudge_one = job(fill_round, WAITING)


def nudge_filling(round_ids: Iterable[int]) -> None:
    """Make tasks now; if no message can be sent, the sweep makes them a little later."""
    for round_id in round_ids:
        _nudge_one(round_id)


def sweep_figures() -> None:
    """Compute the figures that changed, each round once, a round at a time and in one sweep at a time."""
    done: set[int] = set()
    while stale := [pk for pk in figures.stale_rounds(now=timezone.now()) if pk not in done]:
        figures.compute(round_id=stale[0], now=timezone.now())
        done.add(stale[0])


@shared_task
def compute_figures(round_id: int) -> None:
    figures.compute(round_id=round_id, now=timezone.now())


def nudge_figures(round_id: int) -> None:
    """Update the tables after a submission; if no message can be sent, a sweep does it."""
    transaction.on_commit(lambda: compute_figures.delay(round_id), robust=True)


@shared_task
def build_release(release_id: int) -> None:
    releases.build(release_id=release_id, clock=timezone.now)


ask_for_release = job(build_release, Release.objects.all())


@shared_task(bind=True)
def make_glosses(self: Task[..., None], request_id: int) -> None:
    execute = partial(glosses.execute_request, request_id=request_id)
    is_elsewhere = glosses.is_for_another(request_id=request_id, now=timezone.now())
    do_slice(self, GlossRequest, request_id, execute, is_elsewhere=is_elsewhere)


_ask_for_glosses = job(make_glosses, glosses.requests_waiting, send=partial(send_to_queue, make_glosses, GlossRequest))


def ask_for_glosses_of(requests: Iterable[GlossRequest]) -> None:
    """Send tasks for requests; if none can be sent, the sweep sends them later."""
    for request in requests:
        _ask_for_glosses(request.pk)
