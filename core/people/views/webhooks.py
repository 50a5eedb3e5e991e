"""A manager's pages of the webhooks of a project."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people import tasks
from core.people.forms.webhooks import WebhookForm
from core.people.models import Delivery, Role
from core.people.permissions import project_for
from core.people.requests import user_of
from core.people.selectors.webhooks import deliveries_of, events_of, webhooks_of
from core.people.services import webhooks


@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: HttpRequest, slug: str) -> HttpResponse:
    project, made = project_for(user_of(request), slug, Role.MANAGER), None
    form = WebhookForm(request.POST or None)
    if form.is_valid():
        options = {"project": project, "url": form.cleaned_data["url"], "events": form.wanted()}
        try:
            made = webhooks.add_webhook(**options, by=user_of(request), now=timezone.now())
            form = WebhookForm()
        except webhooks.WebhookError as refused:
            form.add_error("url", str(refused))
    context = {"project": project, "form": form, "made": made, "webhooks": webhooks_of(project)}
    return render(request, "people/webhooks.html", context, status=422 if form.is_bound else 200)


@require_safe
def webhook_show(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    webhook = get_object_or_404(project.webhooks, pk=webhook_id)
    context = {"project": project, "webhook": webhook, "events": events_of(webhook)}
    context["page"] = deliveries_of(webhook, request.GET.get("page"))
    return render(request, "people/webhook.html", context)


@require_POST
def webhook_test(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    webhook = get_object_or_404(project.webhooks, pk=webhook_id)
    try:
        tasks.nudge_delivery(webhooks.send_test(webhook=webhook, now=timezone.now()).pk)
        messages.success(request, _("A test is being sent. Reload this page in a few seconds to see the answer."))
    except webhooks.WebhookError as refused:
        messages.error(request, str(refused))
    return redirect("people:webhook-show", slug, webhook_id)


@require_POST
def webhook_turn_off(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    webhook = get_object_or_404(project.webhooks, pk=webhook_id)
    webhooks.turn_off(webhook=webhook, by=user_of(request), now=timezone.now())
    messages.success(
        request, _("The webhook is turned off. Nothing more is sent to %(host)s.") % {"host": webhooks.host_of(webhook)}
    )
    return redirect("people:webhook-list", slug)


@require_POST
def delivery_retry(request: HttpRequest, slug: str, delivery_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    deliveries = Delivery.objects.select_related("webhook")
    delivery = get_object_or_404(deliveries, pk=delivery_id, webhook__project=project)
    try:
        webhooks.retry(delivery=delivery, now=timezone.now())
        tasks.nudge_delivery(delivery.pk)
        messages.success(request, _("It is being sent again. Reload this page in a few seconds to see the answer."))
    except webhooks.WebhookError as refused:
        messages.error(request, str(refused))
    return redirect("people:webhook-show", slug, delivery.webhook_id)
