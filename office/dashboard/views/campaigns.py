"""The campaign file: download it, see what another would change, apply it, also as a new project."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.views.projects import must_be_manager
from annotation.views.shared import kept_from_file
from core.people.models import Project, Role
from core.people.permissions import project_for
from core.people.requests import as_download, user_of
from office.dashboard.formats.campaign_file import CONTENT_TYPE, CampaignFileError, campaign_text, read_campaign
from office.dashboard.formats.campaign_schema import CAMPAIGN
from office.dashboard.forms import CampaignForm
from office.dashboard.services.campaign.applying import apply_campaign
from office.dashboard.services.campaign.changes import CampaignChange


@require_http_methods(["GET", "HEAD", "POST"])
def campaign_show(request: HttpRequest, slug: str) -> HttpResponse:
    return _campaign_page(request, project_for(request.user, slug, Role.MANAGER))


@require_http_methods(["GET", "HEAD", "POST"])
def campaign_create(request: HttpRequest) -> HttpResponse:
    must_be_manager(request)
    return _campaign_page(request, None)


@require_safe
def campaign_download(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    # Guidelines and practice quote captions.
    if elsewhere := kept_from_file(request, project, "dashboard:campaign-show", slug):
        return elsewhere
    answer = HttpResponse(campaign_text(project, site=request.build_absolute_uri("/")), content_type=CONTENT_TYPE)
    return as_download(answer, f"{project.slug}.toml")


@login_not_required
@require_safe
def campaign_schema(request: HttpRequest) -> HttpResponse:
    """Show what editors check files by; it has nothing of anybody's."""
    return JsonResponse(CAMPAIGN, content_type="application/schema+json")


def _campaign_page(request: HttpRequest, project: Project | None) -> HttpResponse:
    form = CampaignForm(request.POST or None, request.FILES or None)
    change = _changed(request, form, project) if form.is_valid() else None
    if change is not None and change.is_applied:
        messages.success(request, _("The campaign file was applied."))
        return redirect("annotation:project-show", change.project.slug)
    shown = CampaignForm(initial={"text": form.cleaned_data["text"]}) if change else form
    context = {"project": project, "form": shown, "change": change}
    return render(request, "dashboard/campaign.html", context, status=422 if form.errors else 200)


def _changed(request: HttpRequest, form: CampaignForm, project: Project | None) -> CampaignChange | None:
    text, is_plan = form.cleaned_data["text"], "apply" not in request.POST
    try:
        file = read_campaign(text.encode())
        return apply_campaign(file, project=project, by=user_of(request), now=timezone.now(), is_plan=is_plan)
    except CampaignFileError as error:
        form.add_error(None, list(error.problems))
        return None
