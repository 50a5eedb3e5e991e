"""A manager's pages of studies, hours and costs; and what Prolific tells of its submissions."""

from __future__ import annotations

import json
from decimal import Decimal

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import csv_download, user_of
from office.recruitment.forms import RatesForm, StudyForm, StudySettingsForm
from office.recruitment.models import Study
from office.recruitment.pages import costs_page
from office.recruitment.rules.panels import FREED, is_an_id, is_genuine
from office.recruitment.selectors.costs import cost_rows, languages_of_work, rates_of
from office.recruitment.selectors.panels import address_of
from office.recruitment.selectors.work import pay_rows, total_owed
from office.recruitment.services.participants import free_place, own_query
from office.recruitment.services.studies import change_study, create_study, set_rates
from tabular.downloads import csv_line


@require_safe
def study_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    return render(request, "recruitment/studies.html", {"project": project, "studies": project.studies.order_by("-pk")})


@require_http_methods(["GET", "HEAD", "POST"])
def study_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = StudyForm(request.POST or None)
    if form.is_valid():
        study = create_study(project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data)
        messages.success(request, _("The study is ready. Give its address to the panel."))
        return redirect("recruitment:study-show", slug, study.pk)
    context = {"project": project, "form": form}
    return render(request, "recruitment/study_create.html", context, status=422 if form.is_bound else 200)


@require_safe
def study_show(request: HttpRequest, slug: str, study_id: int) -> HttpResponse:
    study = study_for(request, slug, study_id)
    rows = pay_rows(study)
    enter = request.build_absolute_uri(reverse("recruitment:study-enter", args=[study.token]))
    context = {
        "project": study.project,
        "study": study,
        "rows": [(row, f"{enter}?{own_query(row.participant)}") for row in rows],
        "owed": total_owed(rows),
        "address": address_of(study, request.build_absolute_uri),
        "events": request.build_absolute_uri(reverse("recruitment:event-take", args=[study.token])),
    }
    return render(request, "recruitment/study.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def study_edit(request: HttpRequest, slug: str, study_id: int) -> HttpResponse:
    study = study_for(request, slug, study_id)
    initial = {name: getattr(study, name) for name in StudySettingsForm.base_fields}
    form = StudySettingsForm(request.POST or None, initial=initial)
    if form.is_valid():
        change_study(study=study, by=user_of(request), now=timezone.now(), **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("recruitment:study-show", slug, study_id)
    context = {"project": study.project, "study": study, "form": form}
    return render(request, "recruitment/study_edit.html", context, status=422 if form.is_bound else 200)


@require_safe
def time_export(request: HttpRequest, slug: str, study_id: int) -> HttpResponseBase:
    """One row per person and language, with everything that the page shows."""
    study = study_for(request, slug, study_id)
    head = ("person", "session", "state", "language", "batches", "items", "active_s", "median_s")
    lines: list[tuple[object, ...]] = [(*head, "reward", "hourly", "bonus", "currency")]
    for row in pay_rows(study):
        who, pay = row.participant, (study.reward, row.pay.hourly, row.pay.bonus, study.currency)
        for time in row.rows:
            active_s, median_s = round(time.active_ms / 1000, 1), time.median_s and round(time.median_s, 1)
            work = (time.language, row.batches, time.items, active_s, median_s)
            lines.append((who.panel_id, who.session_id, who.state, *work, *pay))
    return csv_download(map(csv_line, lines), f"time-{study.pk}.csv")


@require_safe
def bonus_export(request: HttpRequest, slug: str, study_id: int) -> HttpResponseBase:
    """Lines of person and amount, without a head, as panels take them for bonuses."""
    study = study_for(request, slug, study_id)
    owed = [(row.participant.panel_id, row.pay.bonus) for row in pay_rows(study) if row.is_owed]
    return csv_download((_bonus_line(person, bonus) for person, bonus in owed), f"bonuses-{study.pk}.csv")


def _bonus_line(person: str, bonus: Decimal) -> str:
    # Panels want no quotation marks. What is no name that a panel gives may be more than one cell, or a formula.
    return f"{person},{bonus}\r\n" if is_an_id(person) else csv_line((person, bonus))


def study_for(request: HttpRequest, slug: str, study_id: int) -> Study:
    project = project_for(user_of(request), slug, Role.MANAGER)
    return get_object_or_404(project.studies.select_related("project"), pk=study_id)


@require_safe
def cost_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    context = {"project": project, "has_rates": project.hourly_rates.exists()}
    return render(request, "recruitment/costs.html", context | costs_page(cost_rows(project), request.GET, slug))


@require_http_methods(["GET", "HEAD", "POST"])
def rates_edit(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = RatesForm(request.POST or None, languages=languages_of_work(project), rates=rates_of(project))
    if form.is_valid():
        set_rates(project=project, rates=form.rates(), by=user_of(request), now=timezone.now())
        messages.success(request, _("The rates have been saved."))
        return redirect("recruitment:cost-list", slug)
    context = {"project": project, "form": form}
    return render(request, "recruitment/rates.html", context, status=422 if form.is_bound else 200)


MAX_BODY_BYTES = 100_000


@csrf_exempt
@require_POST
@login_not_required
def event_take(request: HttpRequest, token: str) -> HttpResponse:
    """Answer 200 to every genuine event, also to those that change nothing, so that the panel stops sending it."""
    study = get_object_or_404(Study, token=token.replace("\0", ""))
    body = request.read(MAX_BODY_BYTES + 1)
    genuine = len(body) <= MAX_BODY_BYTES and is_genuine(
        body,
        timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
        signature=request.headers.get("X-Prolific-Request-Signature", ""),
        secret=study.webhook_secret,
        now=timezone.now(),
    )
    if not genuine:
        return JsonResponse({"detail": "The signature or its time is wrong."}, status=403)
    try:
        event = json.loads(body)
        status, submission = str(event["status"]).upper(), str(event["resource_id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return JsonResponse({"detail": "Send JSON with status and resource_id."}, status=400)
    changed = (
        status in FREED
        and submission.isprintable()
        and free_place(study=study, session_id=submission, now=timezone.now())
    )
    return JsonResponse({"freed": changed})
