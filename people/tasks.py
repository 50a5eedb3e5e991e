"""Background work about people: mails, old sessions, telling other programs, where rows are the truth."""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from people.services import mails, outgoing_http, webhooks
from people.services.session_store import SessionStore

# SMTPException is an OSError.
IF_MAIL_FAILS: dict[str, Any] = {"autoretry_for": (OSError,), "retry_backoff": 30, "max_retries": 4}


@shared_task
def deliver(delivery_id: int) -> None:
    webhooks.deliver(delivery_id=delivery_id, post=outgoing_http.post, clock=timezone.now, rng=SystemRandom())


@shared_task
def sweep_deliveries() -> None:
    """Send what is due. It is sent by this alone, as an event may come from a service, which knows no tasks."""
    for delivery_id in webhooks.due(now=timezone.now()):
        deliver.delay(delivery_id)


@shared_task(**IF_MAIL_FAILS)
def send_reset(email: str, site: str, language: str) -> None:
    """Asked for whatever the address; should it be lost, whoever waits asks again."""
    mails.send_reset(email=email, site=site, language=language)


@shared_task(**IF_MAIL_FAILS)
def send_confirmation(user_id: int, site: str, language: str) -> None:
    """Should it be lost, the link can be sent again from the page of the address."""
    mails.send_confirmation(user_id=user_id, site=site, language=language)


@shared_task
def sweep_sessions() -> None:
    SessionStore.clear_expired()


def nudge_delivery(delivery_id: int) -> None:
    """Have it sent at once; with the queue out of reach, the sweep does it a little later."""
    transaction.on_commit(lambda: deliver.delay(delivery_id), robust=True)
