"""Celery tasks of scoring. The rows are the truth; the sweep sends lost messages again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from celery import Task
from django.utils import timezone

from core.jobs.models import OPEN_STATES
from core.jobs.tasks import job, shared_task
from research.inference.tasks import do_slice, resend_message, send_to_queue
from research.scoring.models import Pass, ReferenceTranslation, Scoring
from research.scoring.services import reference_translations, scoring_passes, scorings


@shared_task(bind=True)
def run_pass(self: Task[..., None], pass_id: int) -> None:
    queue = scoring_passes.queue_elsewhere(pass_id=pass_id, now=timezone.now())
    if queue:
        resend_message(self, pass_id, queue)
    else:
        scoring_passes.run_pass(pass_id=pass_id, clock=timezone.now)


_ask_for_pass = job(run_pass, Pass.objects.all())


def sweep_scorings() -> None:
    for pass_id in scorings.ask_where_changed(now=timezone.now()):
        run_pass.delay(pass_id)


def ask_for_passes(scorings: Iterable[Scoring]) -> None:
    """Send tasks for the open passes after the transaction commits; if none can be sent, the sweep sends them later."""
    waiting = Pass.objects.filter(scoring__in=list(scorings), state__in=OPEN_STATES)
    for pass_id in waiting.order_by("pk").values_list("pk", flat=True):
        _ask_for_pass(pass_id)


@shared_task(bind=True)
def translate_references(self: Task[..., None], translation_id: int) -> None:
    execute = partial(reference_translations.execute_translation, translation_id=translation_id)
    is_elsewhere = reference_translations.is_for_another(translation_id=translation_id, now=timezone.now())
    do_slice(self, ReferenceTranslation, translation_id, execute, is_elsewhere=is_elsewhere)


ask_for_translation = job(
    translate_references,
    ReferenceTranslation.objects.all(),
    send=partial(send_to_queue, translate_references, ReferenceTranslation),
)
