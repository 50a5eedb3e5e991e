"""The webhooks of a project and their deliveries."""

from __future__ import annotations

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from core.people.models import Delivery, DeliveryState, Project, Webhook, WebhookEvent

DELIVERIES_PER_PAGE = 50


def webhooks_of(project: Project) -> QuerySet[Webhook]:
    """List webhooks with `failed` and `waiting`, how many deliveries have not arrived."""
    state = "deliveries__state"
    return project.webhooks.annotate(
        failed=Count("deliveries", filter=Q(**{state: DeliveryState.FAILED})),
        waiting=Count("deliveries", filter=Q(**{state: DeliveryState.WAITING})),
    ).order_by("-is_active", "pk")


def events_of(webhook: Webhook) -> list[str]:
    """Return its events, as pages name them."""
    return [str(event.label) for event in WebhookEvent if event.value in webhook.events]


def deliveries_of(webhook: Webhook, number: str | None) -> Page[Delivery]:
    """Return a page of deliveries, the newest first."""
    return Paginator(webhook.deliveries.order_by("-pk"), DELIVERIES_PER_PAGE).get_page(number)
