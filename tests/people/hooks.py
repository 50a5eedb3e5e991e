"""Webhooks, what waits for them, and sending it."""

from __future__ import annotations

import base64
from datetime import datetime
from random import Random
from typing import Any

from core.people.models import Delivery, Project, Webhook, WebhookEvent
from core.people.services import outgoing_http, webhooks
from core.people.services.outgoing_http import AttemptResult
from tests.factories import NOW, make_project

CLOSED = WebhookEvent.ROUND_CLOSED
PUBLIC = "93.184.216.34"


def make_webhook(project: Project | None = None, *, url: str = "https://hooks.example.org/", **fields: Any) -> Webhook:
    project = project or make_project()
    values = {"secret": "whsec_" + base64.b64encode(b"s" * 32).decode(), "events": [CLOSED], "created_at": NOW}
    return Webhook.objects.create(project=project, url=url, created_by=project.created_by, **(values | fields))


def make_delivery(hook: Webhook) -> Delivery:
    webhooks.queue_event(project=hook.project, event=CLOSED, payload={"round": "Pilot 1", "language": "de"}, now=NOW)
    return Delivery.objects.get(webhook=hook)


def send(
    delivery: Delivery, answer: AttemptResult | None = None, *, at: datetime = NOW, rng: Random | None = None
) -> Delivery:
    webhooks.deliver(
        delivery_id=delivery.pk,
        post=(lambda *_sent: answer) if answer else outgoing_http.post,
        clock=lambda: at,
        rng=rng or Random(1),
    )
    delivery.refresh_from_db()
    return delivery
