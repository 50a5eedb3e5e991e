"""Webhooks of a project and what they were sent, for its managers."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people import tasks
from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, refused_as
from core.people.api.views import person_asking
from core.people.forms.projects import WebhookForm
from core.people.models import Delivery, DeliveryState, Role, Webhook, WebhookEvent
from core.people.permissions import project_for
from core.people.services import webhooks as services

api = ApiOperations("webhooks")
explain({"webhook-refused": "The webhook cannot be added, or sends nothing any more; detail says why."})


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    events = serializers.ListField(child=serializers.ChoiceField(WebhookEvent.choices))

    class Meta:
        model = Webhook
        fields: tuple[str, ...] = ("id", "url", "events", "is_active", "created_at")
        read_only_fields = fields


class NewWebhookAnswerSerializer(WebhookSerializer):
    secret = serializers.CharField(allow_null=True, help_text="Null where an answer is given again.")

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")
        read_only_fields = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    state = serializers.ChoiceField(DeliveryState.choices)

    class Meta:
        model = Delivery
        fields = ("id", "event", "state", "attempts", "answer", "created_at", "done_at")
        read_only_fields = fields


NewWebhookSerializer = form_shape(
    "NewWebhook",
    WebhookForm,
    events=serializers.ListField(child=serializers.ChoiceField(WebhookEvent.choices), required=False),
)


@api.list("webhooks", "The webhooks of a project", "WebhookPage", WebhookSerializer)
def webhook_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    return page(request, [ListPart(0, project.webhooks.all())], order=["pk"], show=many_shown(WebhookSerializer))


@api.post(
    "webhook_add",
    "Send events of a project to a server",
    {201: NewWebhookAnswerSerializer},
    request=NewWebhookSerializer,
    description="This answer alone has the secret that signs what is sent. If it was lost, turn the webhook off and "
    "add another.",
    secrets=("secret",),
)
def webhook_add(request: Request, slug: str) -> Response:
    by = person_asking(request)
    project = project_for(by, slug, Role.MANAGER)
    form = sent_form(request, NewWebhookSerializer, WebhookForm)
    with refused_as("webhook-refused", services.WebhookError):
        made = services.add_webhook(
            project=project, url=form.cleaned_data["url"], events=form.wanted(), by=by, now=timezone.now()
        )
    return Response(NewWebhookAnswerSerializer(made).data, status=201)


@api.get("webhook", "A webhook", WebhookSerializer)
def webhook_show(request: Request, slug: str, webhook_id: int) -> Response:
    return Response(WebhookSerializer(_webhook(request, slug, webhook_id)).data)


@api.delete("webhook_turn_off", "Turn a webhook off for good", is_for_archived=True)
def webhook_turn_off(request: Request, slug: str, webhook_id: int) -> Response:
    webhook = _webhook(request, slug, webhook_id)
    services.turn_off(webhook=webhook, by=person_asking(request), now=timezone.now())
    return Response(status=204)


@api.post("webhook_test", "Send a test to a webhook", {201: DeliverySerializer})
def webhook_test(request: Request, slug: str, webhook_id: int) -> Response:
    webhook = _webhook(request, slug, webhook_id)
    with refused_as("webhook-refused", services.WebhookError):
        sent = services.send_test(webhook=webhook, now=timezone.now())
    return _sending(sent, status=201)


@api.list("deliveries", "What a webhook was sent, and whether it arrived", "DeliveryPage", DeliverySerializer)
def delivery_list(request: Request, slug: str, webhook_id: int) -> Response:
    rows = _webhook(request, slug, webhook_id).deliveries.all()
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(DeliverySerializer))


@api.post("delivery_retry", "Send a delivery that did not arrive again", {200: DeliverySerializer})
def delivery_retry(request: Request, slug: str, delivery_id: int) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    deliveries = Delivery.objects.select_related("webhook")
    delivery = get_object_or_404(deliveries, pk=delivery_id, webhook__project=project)
    with refused_as("webhook-refused", services.WebhookError):
        services.retry(delivery=delivery, now=timezone.now())
    return _sending(delivery, status=200)


def _webhook(request: Request, slug: str, webhook_id: int) -> Webhook:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    return get_object_or_404(project.webhooks, pk=webhook_id)


def _sending(delivery: Delivery, *, status: int) -> Response:
    tasks.nudge_delivery(delivery.pk)
    delivery.refresh_from_db()
    return Response(DeliverySerializer(delivery).data, status=status)


webhook_list_or_add = one_address(webhook_list, webhook_add)
webhook_show_or_turn_off = one_address(webhook_show, webhook_turn_off)
