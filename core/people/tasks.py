"""Background tasks about people: mails, webhooks. The rows decide."""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from django.utils import timezone

from core.jobs.tasks import job, shared_task
from core.people.models import Delivery, DeliveryState
from core.people.services import mails, outgoing_http, webhooks
from core.people.services.invitations import INVITATIONS
from core.people.services.mails import post_by_server

# SMTPException is an OSError.
IF_MAIL_FAILS: dict[str, Any] = {"autoretry_for": (OSError,), "retry_backoff": 30, "max_retries": 4}


@shared_task
def deliver(delivery_id: int) -> None:
    webhooks.deliver(delivery_id=delivery_id, post=outgoing_http.post, clock=timezone.now, rng=SystemRandom())


# Events come from services, which know no tasks: the sweep sends them.
nudge_delivery = job(deliver, Delivery.objects.filter(state=DeliveryState.WAITING))


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


job(send_invitation, INVITATIONS.due)
