"""Background work about people: telling other programs, where rows are the truth and a task the nudge; old sessions."""

from __future__ import annotations

from random import SystemRandom

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from people import callouts, webhooks
from people.sessions import SessionStore


@shared_task
def deliver(delivery_id: int) -> None:
    webhooks.deliver(delivery_id=delivery_id, post=callouts.post, clock=timezone.now, rng=SystemRandom())


@shared_task
def sweep_deliveries() -> None:
    """Send what is due. It is sent by this alone, as an event may come from a service, which knows no tasks."""
    for delivery_id in webhooks.due(now=timezone.now()):
        deliver.delay(delivery_id)


@shared_task
def sweep_sessions() -> None:
    SessionStore.clear_expired()


def nudge_delivery(delivery_id: int) -> None:
    """Have it sent at once; with the queue out of reach, the sweep does it a little later."""
    transaction.on_commit(lambda: deliver.delay(delivery_id), robust=True)
