"""A manager's pages of a project: members, the consent text, webhooks, the audit log."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people import defaults, tasks
from core.people.forms.projects import ConsentTextForm, LogForm, WebhookForm
from core.people.models import Delivery, Role, WebhookEvent
from core.people.permissions import person_with_link, project_for
from core.people.requests import RefusalsShown, csv_download, user_of
from core.people.rules.consent_parts import PartsError
from core.people.selectors.audit_log import EntryFilters, actions_in, log_as_csv, log_page
from core.people.selectors.projects import members_of, webhooks_of
from core.people.selectors.texts import consent_by_role, newest_consent_text, notes_writing_marks
from core.people.services import webhooks
from core.people.services.consent import publish_consent_text
from core.people.services.members import LastManagerError, remove_member
from core.people.services.personal_links import LinkError, check_link, replace_link, revoke_link

DELIVERIES_PER_PAGE = 50


@require_safe
def member_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    page, members = members_of(project, request.GET.get("page"))
    return render(request, "people/members.html", {"project": project, "page": page, "members": members})


@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    membership = get_object_or_404(project.memberships.select_related("user"), pk=pk)
    if request.method != "POST":
        context = {"project": project, "membership": membership, "role": Role(membership.role).label}
        return render(request, "people/member_remove.html", context)
    with RefusalsShown(request, LastManagerError):
        remove_member(membership=membership, by=user_of(request), now=timezone.now())
        messages.success(request, _("%(name)s no longer has that role.") % {"name": membership.user.username})
        if membership.user_id == request.user.pk and membership.role == Role.MANAGER:
            return redirect("people:home-show")
    return redirect("people:member-list", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def link_replace(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Give a member another personal link, which this answer alone shows, or say why not."""
    project = project_for(user_of(request), slug, Role.MANAGER)
    person = person_with_link(project, pk)
    context = {"project": project, "pk": pk, "person": person}
    site = request.build_absolute_uri("/")
    try:
        check_link(person=person, by=user_of(request))
        if request.method == "POST":
            context["address"] = replace_link(person=person, by=user_of(request), site=site, now=timezone.now())
    except LinkError as refusal:
        context["refusal"] = refusal
    if context.get("address") == "":
        messages.success(request, _("The link was sent to %(address)s.") % {"address": person.email})
        return redirect("people:member-list", slug)
    return render(request, "people/member_link.html", context)


@require_POST
def link_revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    person = person_with_link(project, pk)
    with RefusalsShown(request, LinkError):
        revoke_link(person=person, by=user_of(request), now=timezone.now())
        messages.success(request, _("The personal link of %(name)s is revoked.") % {"name": person.username})
    return redirect("people:member-list", slug)


@require_safe
def log_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = LogForm(request.GET, project=project, actions=actions_in(project))
    is_valid = form.is_valid()
    wanted = form.wanted() if is_valid else EntryFilters()
    page = log_page(project, wanted, before=form.cleaned_data.get("before"))
    context = {"project": project, "form": form, "page": page, "is_filtered": wanted != EntryFilters()}
    return render(request, "people/log.html", context, status=200 if is_valid else 422)


@require_safe
def log_export(request: HttpRequest, slug: str) -> HttpResponseBase:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = LogForm(request.GET, project=project, actions=actions_in(project))
    if not form.is_valid():
        return log_show(request, slug)
    return csv_download(log_as_csv(project, form.wanted()), f"{project.slug}-log.csv")


@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: HttpRequest, slug: str) -> HttpResponse:
    project, made = project_for(user_of(request), slug, Role.MANAGER), None
    form = WebhookForm(request.POST or None)
    if form.is_valid():
        options = {"project": project, "url": form.cleaned_data["url"], "events": form.wanted()}
        with RefusalsShown(form, webhooks.WebhookError, field="url"):
            made = webhooks.add_webhook(**options, by=user_of(request), now=timezone.now())
            form = WebhookForm()
    context = {"project": project, "form": form, "made": made, "webhooks": webhooks_of(project)}
    return render(request, "people/webhooks.html", context, status=422 if form.is_bound else 200)


@require_safe
def webhook_show(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    webhook = get_object_or_404(project.webhooks, pk=webhook_id)
    events = [event.label for event in WebhookEvent if event.value in webhook.events]
    page = Paginator(webhook.deliveries.order_by("-pk"), DELIVERIES_PER_PAGE).get_page(request.GET.get("page"))
    context = {"project": project, "webhook": webhook, "events": events, "page": page}
    return render(request, "people/webhook.html", context)


@require_POST
def webhook_test(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    webhook = get_object_or_404(project.webhooks, pk=webhook_id)
    with RefusalsShown(request, webhooks.WebhookError):
        tasks.nudge_delivery(webhooks.send_test(webhook=webhook, now=timezone.now()).pk)
        messages.success(request, _("A test is being sent. Reload this page in a few seconds to see the answer."))
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
    with RefusalsShown(request, webhooks.WebhookError):
        webhooks.retry(delivery=delivery, now=timezone.now())
        tasks.nudge_delivery(delivery.pk)
        messages.success(request, _("It is being sent again. Reload this page in a few seconds to see the answer."))
    return redirect("people:webhook-show", slug, delivery.webhook_id)


@require_http_methods(["GET", "HEAD", "POST"])
def consent_publish(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    text = newest_consent_text(project)
    wants_default = request.GET.get("text") == "default"
    form = ConsentTextForm(request.POST or None, text=text, wants_default=wants_default)
    if form.is_valid():
        by, now = user_of(request), timezone.now()
        with RefusalsShown(form, PartsError, field="body"):
            published = publish_consent_text(project=project, by=by, now=now, **form.cleaned_data)
            messages.success(request, _("Version %(version)d is now in use.") % {"version": published.version})
            return redirect("people:consent-publish", slug)
    context = {
        "project": project,
        "text": text,
        "form": form,
        "shown": consent_by_role(text) if text else [],
        "notes_marks": notes_writing_marks(project),
        "marks_sentence": defaults.WRITING_MARKS,
    }
    return render(request, "people/consent_publish.html", context, status=422 if form.is_bound else 200)
