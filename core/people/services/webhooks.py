"""Webhooks: an event becomes a row for each address that subscribed to it.

The rows are written in the transaction of the event, so no event is announced that did not happen, and none is lost.
They are sent in the background (`core.people.tasks`), signed as in Standard Webhooks, and retried at growing intervals.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import gettext as _

from core.jobs.services import leases
from core.people.models import Delivery, DeliveryState, Project, User, Webhook, WebhookEvent
from core.people.services import audit_log
from core.people.services.outgoing_http import Post, check_address

SECRET_PREFIX = "whsec_"  # noqa: S105 what Standard Webhooks puts before a secret, not one
SECRET_BYTES = 32
MAX_WEBHOOKS = 20
"""The most webhooks of one project."""
TEST_EVENT = "webhook.test"

MAX_ATTEMPTS = 9
FIRST_PAUSE = timedelta(seconds=30)
PAUSES_GROW_BY = 3
JITTER = 0.2
"""(ours) Nine attempts, 30 s to 18 h apart, give or take a fifth: the last is about 27 hours after the first."""


class WebhookError(Exception):
    """The webhook or delivery is not possible; the message says why and what to do."""


def queue_event(*, project: Project, event: WebhookEvent, payload: Mapping[str, Any], now: datetime) -> int:
    """Queue `event` for every active webhook of `project` that subscribed to it; return how many. Call it with the
    change.

    - `payload`: what JSON can hold, and what a manager may know: names, numbers and addresses, never a caption's words.
    """
    wanting = [hook for hook in Webhook.objects.filter(project=project, is_active=True) if event in hook.events]
    body = _body(project, event, payload, now)
    made = Delivery.objects.bulk_create(
        Delivery(webhook=hook, event=event, payload=body, due_at=now, created_at=now) for hook in wanting
    )
    return len(made)


def _body(project: Project, event: str, payload: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {"type": str(event), "timestamp": now.isoformat(), "project": project.slug, "data": dict(payload)}


def add_webhook(*, project: Project, url: str, events: Iterable[WebhookEvent], by: User, now: datetime) -> Webhook:
    """Register `url` for `events`. Its secret is in the returned row; show it once.

    Raises WebhookError where the address may not be called, or the project has as many as it may have.
    """
    if problem := check_address(url):
        raise WebhookError(problem)
    with transaction.atomic():
        audit_log.lock(project, by)
        if Webhook.objects.filter(project=project, is_active=True).count() >= MAX_WEBHOOKS:
            text = _("A project can have at most %(most)s webhooks. Turn off one that you no longer need.")
            raise WebhookError(text % {"most": MAX_WEBHOOKS})
        secret = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        wanted = [event.value for event in events]
        hook = Webhook.objects.create(
            project=project, url=url, secret=secret, events=wanted, created_at=now, created_by=by
        )
        details = {"webhook": hook.pk, "events": wanted}
        audit_log.record(project=project, action="webhook.added", about=host_of(hook), by=by, now=now, details=details)
    return hook


def turn_off(*, webhook: Webhook, by: User | None, now: datetime, why: str = "") -> None:
    """Turn a webhook off for good, including waiting deliveries. Repeating it changes nothing."""
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, is_active=True).update(is_active=False):
            return
        waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
        waiting.update(state=DeliveryState.FAILED, done_at=now, answer=_("The webhook was turned off."))
        details = {"webhook": webhook.pk} | ({"reason": why} if why else {})
        project = webhook.project
        audit_log.record(
            project=project, action="webhook.removed", about=host_of(webhook), by=by, now=now, details=details
        )


def send_test(*, webhook: Webhook, now: datetime) -> Delivery:
    """Queue a test delivery, to see whether the address accepts any.

    Raises WebhookError where the webhook is turned off.
    """
    if not webhook.is_active:
        raise WebhookError(_("This webhook is turned off. Add it again."))
    body = _body(webhook.project, TEST_EVENT, {}, now)
    return Delivery.objects.create(webhook=webhook, event=TEST_EVENT, payload=body, due_at=now, created_at=now)


def retry(*, delivery: Delivery, now: datetime) -> None:
    """Retry a delivery that was given up, or make a waiting one due now. One that arrived stays as it is.

    Raises WebhookError where the webhook is turned off.
    """
    if not delivery.webhook.is_active:
        raise WebhookError(_("This webhook is turned off. Add it again."))
    undone = Delivery.objects.filter(pk=delivery.pk).exclude(state=DeliveryState.DONE)
    undone.update(state=DeliveryState.WAITING, attempts=0, due_at=now, done_at=None)


def deliver(*, delivery_id: int, post: Post, clock: Callable[[], datetime], rng: Random) -> None:
    """Send one delivery once, if it is due and no other worker is sending it."""
    waiting = Delivery.objects.filter(pk=delivery_id, state=DeliveryState.WAITING).select_related("webhook__project")
    delivery = leases.claim_due(waiting, now=clock(), pause=lambda attempts: pause_after(attempts, rng))
    if delivery is None:
        return
    is_turned_off = not delivery.webhook.is_active
    if is_turned_off or delivery.attempts > MAX_ATTEMPTS:
        # It was turned off while another transaction added this; or the last attempt ended without a result.
        answer = _("The webhook was turned off.") if is_turned_off else delivery.answer
        _settle(delivery, DeliveryState.FAILED, now=clock(), attempts=delivery.attempts - 1, answer=answer)
        return
    # No transaction stays open while somebody else's server answers.
    body = json.dumps(delivery.payload, sort_keys=True, separators=(",", ":")).encode()
    headers = headers_of(delivery, body, at=clock())
    got = post(delivery.webhook.url, body, headers)
    state = DeliveryState.DONE if got.is_success else DeliveryState.WAITING
    if got.is_gone or (delivery.attempts >= MAX_ATTEMPTS and not got.is_success):
        state = DeliveryState.FAILED
    _settle(delivery, state, now=clock(), answer=got.said[: Delivery._meta.get_field("answer").max_length])
    if got.is_gone:
        turn_off(webhook=delivery.webhook, by=None, now=clock(), why="410 Gone")


def _settle(delivery: Delivery, state: DeliveryState, *, now: datetime, **values: Any) -> None:
    # By now somebody may have retried it, or turned the webhook off; then that is kept.
    ours = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts)
    ours.update(state=state, done_at=None if state == DeliveryState.WAITING else now, **values)


def headers_of(delivery: Delivery, body: bytes, *, at: datetime) -> dict[str, str]:
    message_id, timestamp = f"msg_{delivery.pk}", str(int(at.timestamp()))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature(delivery.webhook.secret, message_id, timestamp, body),
    }


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Return `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join([message_id.encode(), timestamp.encode(), body])
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def pause_after(attempts: int, rng: Random) -> timedelta:
    pause = leases.growing_pause(attempts, first=FIRST_PAUSE, grows_by=PAUSES_GROW_BY)
    return pause * rng.uniform(1 - JITTER, 1 + JITTER)


def host_of(webhook: Webhook) -> str:
    """Return the host, to show to others: the rest of the address may contain a secret."""
    return urlsplit(webhook.url).netloc
