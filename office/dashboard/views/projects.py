"""A project as a whole: its name, a copy of its settings, the archive, its deletion."""

from __future__ import annotations

from random import SystemRandom

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.services.campaign import UnfinishedBatchesError
from annotation.tasks import nudge_filling
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import user_of
from office.dashboard.forms import ArchiveForm, CopyForm, DeleteForm, NameForm
from office.dashboard.selectors.project_contents import contents_of, copyable, owned_by, unfinished_batches
from office.dashboard.services import project_archive as services
from office.dashboard.services.project_archive import LifecycleError
from office.dashboard.services.project_copies import duplicate_project
from office.dashboard.services.project_deletion import ask_for_deletion
from office.dashboard.tasks import ask_for_deletion as send_deletion

SEED_BITS = 31


@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = NameForm(request.POST or None, instance=project_for(request.user, slug, Role.MANAGER))
    if not form.is_valid():
        context = {"project": project, "form": form}
        return render(request, "dashboard/project_settings.html", context, status=422 if form.is_bound else 200)
    services.rename_project(project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect("dashboard:project-settings", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def project_duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    copied = copyable(project)
    form = CopyForm(request.POST or None, initial={"name": _("Copy of %(name)s") % {"name": project.name}})
    if not form.is_valid():
        context = {"project": project, "form": form, "copied": copied}
        return render(request, "dashboard/project_duplicate.html", context, status=422 if form.is_bound else 200)
    made = duplicate_project(
        project=project,
        name=form.cleaned_data["name"],
        languages=copied.usable,
        seed=SystemRandom().getrandbits(SEED_BITS),
        by=user_of(request),
        now=timezone.now(),
    )
    nudge_filling(list(made.rounds.filter(awaits_tasks=True).values_list("pk", flat=True)))
    messages.success(request, _("The project was made. Nobody is in it except you."))
    return redirect("annotation:project-show", made.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def project_archive(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    batches = unfinished_batches(project, now=timezone.now())
    form = ArchiveForm(request.POST if request.method == "POST" else None, batches=batches)
    context = {"project": project, "form": form, "batches": batches}
    if not form.is_valid():
        return render(request, "dashboard/project_archive.html", context, status=422 if form.is_bound else 200)
    try:
        services.archive_project(project=project, assigned=form.choice(), by=user_of(request), now=timezone.now())
    except UnfinishedBatchesError as refused:
        messages.error(request, str(refused))
        return redirect("dashboard:project-archive", slug)
    messages.success(request, _("The project is archived."))
    return redirect("dashboard:project-settings", slug)


@require_POST
def project_restore(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    try:
        services.restore_project(project=project, by=user_of(request), now=timezone.now())
    except LifecycleError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("The project is restored. Its rounds and invitations are as they were."))
    return redirect("dashboard:project-settings", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    lost = contents_of(project)
    form = DeleteForm(request.POST or None, project=project, releases=lost["releases"])
    if not project.is_archived or not form.is_valid():
        context = {"project": project, "form": form, "lost": lost, "kept": owned_by(project)}
        return render(request, "dashboard/project_delete.html", context, status=422 if form.is_bound else 200)
    try:
        deletion = ask_for_deletion(project=project, by=user_of(request), now=timezone.now())
    except LifecycleError as refused:
        messages.error(request, str(refused))
        return redirect("dashboard:project-settings", slug)
    send_deletion(deletion.pk)
    messages.success(request, _("%(name)s is being deleted.") % {"name": project.name})
    return redirect("annotation:project-list")
