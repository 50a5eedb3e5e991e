"""A manager's pages of a study at Prolific: token, plan and budget, dry run, steps."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import RefusalsShown, user_of
from office.recruitment.forms import PanelPlanForm, PlacesForm, ProlificTokenForm
from office.recruitment.models import PanelStudy, PaymentState, ProlificAccount
from office.recruitment.rules.prolific import PanelStep, steps_in
from office.recruitment.selectors.panels import address_of, minutes_of
from office.recruitment.services.panel_studies import check_study, plan_study, set_token, take_step
from office.recruitment.services.prolific_api import PanelError
from office.recruitment.views.studies import study_for


@require_http_methods(["GET", "HEAD", "POST"])
def token_edit(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = ProlificTokenForm(request.POST or None)
    if form.is_valid():
        with RefusalsShown(form, PanelError, field="token"):
            set_token(project=project, token=form.cleaned_data["token"], by=user_of(request), now=timezone.now())
            messages.success(request, _("Saved."))
            return redirect("recruitment:study-list", slug)
    context = {"project": project, "form": form}
    return render(request, "recruitment/prolific_token.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def panel_show(request: HttpRequest, slug: str, study_id: int) -> HttpResponse:
    study = study_for(request, slug, study_id)
    row = PanelStudy.objects.filter(study=study).first()
    form = PanelPlanForm(request.POST or None, row=row, minutes=minutes_of(study))
    if form.is_valid():
        with RefusalsShown(form, PanelError, field="budget"):
            plan_study(study=study, by=user_of(request), now=timezone.now(), **form.cleaned_data)
            messages.success(request, _("Saved."))
            return redirect("recruitment:panel-show", slug, study_id)
    context = {
        "project": study.project,
        "study": study,
        "row": row,
        "form": form,
        "has_token": ProlificAccount.objects.filter(project=study.project).exists(),
        "steps": steps_in(row.status) if row else [],
        "places": PlacesForm(initial={"places": study.places}) if row and row.panel_id else None,
        "payments": row.payments.all() if row else [],
        "has_unconfirmed": row is not None and row.payments.filter(state=PaymentState.SENT).exists(),
    }
    return render(request, "recruitment/prolific.html", context, status=422 if form.is_bound else 200)


@require_safe
def panel_check(request: HttpRequest, slug: str, study_id: int) -> HttpResponse:
    study = study_for(request, slug, study_id)
    row = PanelStudy.objects.filter(study=study).first()
    if row is None:
        return redirect("recruitment:panel-show", slug, study_id)
    with RefusalsShown(request, PanelError):
        check = check_study(study, row, address_of(study, request.build_absolute_uri))
        context = {"project": study.project, "study": study, "check": check}
        return render(request, "recruitment/prolific_check.html", context)
    return redirect("recruitment:panel-show", slug, study_id)


@require_POST
def panel_act(request: HttpRequest, slug: str, study_id: int, action: str) -> HttpResponse:
    study = study_for(request, slug, study_id)
    if action not in PanelStep.values:
        raise Http404(_("There is no such action."))
    form = PlacesForm(request.POST)
    wants_places = action == PanelStep.PLACES
    if wants_places and not form.is_valid():
        messages.error(request, _("Enter a number of places."))
        return redirect("recruitment:panel-show", slug, study_id)
    with RefusalsShown(request, PanelError):
        said = take_step(
            PanelStep(action),
            study=study,
            by=user_of(request),
            now=timezone.now(),
            address=address_of(study, request.build_absolute_uri),
            places=form.cleaned_data["places"] if wants_places else None,
        )
        messages.success(request, said)
    return redirect("recruitment:panel-show", slug, study_id)
