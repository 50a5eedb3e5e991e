"""Background tasks about people: mails, old sessions, webhooks. The rows decide."""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from django.db import transaction
from django.utils import timezone

from people.rules.queue import shared_task
from people.services import mails, outgoing_http, webhooks
from people.services.invitation_mails import INVITATIONS
from people.services.outbox import post_by_server
from people.services.session_store import SessionStore

# SMTPException is an OSError.
IF_MAIL_FAILS: dict[str, Any] = {"autoretry_for": (OSError,), "retry_backoff": 30, "max_retries": 4}


@shared_task
def deliver(delivery_id: int) -> None:
    webhooks.deliver(delivery_id=delivery_id, post=outgoing_http.post, clock=timezone.now, rng=SystemRandom())


@shared_task
def sweep_deliveries() -> None:
    """Send deliveries that are due. Only this task sends, as events come from services, which know no tasks."""
    for delivery_id in webhooks.due(now=timezone.now()):
        deliver.delay(delivery_id)


@shared_task(**IF_MAIL_FAILS)
def send_reset(email: str, site: str, language: str) -> None:
    """Mail a link, whatever the address; if the message is lost, the person asks again."""
    mails.send_reset(email=email, site=site, language=language)


@shared_task(**IF_MAIL_FAILS)
def send_confirmation(user_id: int, site: str, language: str) -> None:
    """Mail a link; if the message is lost, the page of the address can send it again."""
    mails.send_confirmation(user_id=user_id, site=site, language=language)


@shared_task
def send_invitation(mail_id: int) -> None:
    INVITATIONS.send(mail_id=mail_id, post=post_by_server, clock=timezone.now)


@shared_task
def sweep_invitation_mails() -> None:
    """Send what is queued. It runs at intervals, and at once when somebody asks for e-mails."""
    now = timezone.now()
    INVITATIONS.give_up_interrupted(now=now)
    for mail_id in INVITATIONS.due(now=now):
        send_invitation.delay(mail_id)


def nudge_invitation_mails() -> None:
    """Send them at once; if the queue cannot be reached, the sweep does it a little later."""
    transaction.on_commit(sweep_invitation_mails.delay, robust=True)


@shared_task
def sweep_sessions() -> None:
    SessionStore.clear_expired()


def nudge_delivery(delivery_id: int) -> None:
    """Send it at once; if the queue cannot be reached, the sweep does it a little later."""
    transaction.on_commit(lambda: deliver.delay(delivery_id), robust=True)
