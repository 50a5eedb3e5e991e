"""Managers' pages of candidates: list, import and delete them."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.models import ImportJob
from core.images.views.uploads import upload_page
from core.people.models import Role
from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, user_of
from research.selection import tasks
from research.selection.forms.candidates import CandidatesForm
from research.selection.selectors.candidates import lists_of, summary_of
from research.selection.services.candidate_imports import start_upload
from research.selection.services.candidates import CandidatesRefusedError, delete_list

LISTS_PER_PAGE = 20


@require_safe
def candidates_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    page = Paginator(lists_of(project), LISTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"project": project, "page": page, "lists": [summary_of(one) for one in page]}
    return render(request, "corpora/candidates.html", context)


@csrf_exempt  # checked by upload_page, once it is clear who sends and how much
@require_http_methods(["GET", "HEAD", "POST"])
def candidates_import(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)

    def start(form: CandidatesForm) -> ImportJob | None:
        values = dict(form.cleaned_data)
        about = {"name": values["name"], "upload": values["file"], "needs_licence": not values["allow_no_licence"]}
        back = reverse("corpora:candidates-list", args=[slug])
        with RefusalsShown(form, CandidatesRefusedError, field="name"):
            job = start_upload(project=project, **about, back=back, by=user_of(request), clock=timezone.now)
            tasks.ask_for_candidate_import(job.pk)
            return job
        return None

    form = partial(CandidatesForm, project=project)
    return upload_page(request, "corpora/candidates_import.html", {"project": project}, form=form, start=start)


@require_POST
def candidates_delete(request: HttpRequest, slug: str, list_slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    candidates = get_object_or_404(lists_of(project), slug=list_slug)
    with RefusalsShown(request, CandidatesRefusedError):
        delete_list(candidates=candidates, by=user_of(request), now=timezone.now())
        messages.success(request, _("The list was deleted."))
    return redirect("corpora:candidates-list", slug)
