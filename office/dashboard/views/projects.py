"""A project or a collection as a whole: names, copies, the archive, deletion, images left out, and the setup."""

from __future__ import annotations

from random import SystemRandom
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.services.campaign import UnfinishedBatchesError
from annotation.tasks import nudge_filling
from core.images.forms import CollectionNameForm
from core.images.models import CollectionImage
from core.images.permissions import collection_to_change, entry_of
from core.images.services.collections import (
    CollectionUsedError,
    delete_collection,
    duplicate_collection,
    rename_collection,
)
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import RefusalsShown, user_of
from office.dashboard.forms import ArchiveForm, CopyForm, DeleteForm, LeaveOutForm, NameForm
from office.dashboard.selectors.project_contents import (
    contents_of,
    copyable,
    owned_by,
    unfinished_batches,
    uses_of,
    uses_of_image,
)
from office.dashboard.selectors.setup import is_released, setup_of
from office.dashboard.services.project_deletion import ask_for_deletion
from office.dashboard.services.projects import (
    LifecycleError,
    archive_project,
    count_image_again,
    duplicate_project,
    leave_out_image,
    rename_project,
    restore_project,
    take_out_image,
)
from office.dashboard.tasks import ask_for_deletion as send_deletion
from research.inference.services.runs import delete_trials_of

SEED_BITS = 31


@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = NameForm(request.POST or None, instance=project_for(request.user, slug, Role.MANAGER))
    if not form.is_valid():
        context = {"project": project, "form": form}
        return render(request, "dashboard/project_settings.html", context, status=422 if form.is_bound else 200)
    rename_project(project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect("dashboard:project-settings", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def project_duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    languages, own = copyable(project)
    form = CopyForm(request.POST or None, initial={"name": _("Copy of %(name)s") % {"name": project.name}})
    if not form.is_valid():
        context = {"project": project, "form": form, "languages": languages, "own": own}
        return render(request, "dashboard/project_duplicate.html", context, status=422 if form.is_bound else 200)
    made = duplicate_project(
        project=project,
        name=form.cleaned_data["name"],
        languages=languages,
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
    with RefusalsShown(request, UnfinishedBatchesError):
        archive_project(project=project, assigned=form.choice(), by=user_of(request), now=timezone.now())
        messages.success(request, _("The project is archived."))
        return redirect("dashboard:project-settings", slug)
    return redirect("dashboard:project-archive", slug)


@require_POST
def project_restore(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    with RefusalsShown(request, LifecycleError):
        restore_project(project=project, by=user_of(request), now=timezone.now())
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
    with RefusalsShown(request, LifecycleError):
        deletion = ask_for_deletion(project=project, by=user_of(request), now=timezone.now())
        send_deletion(deletion.pk)
        messages.success(request, _("%(name)s is being deleted.") % {"name": project.name})
        return redirect("annotation:project-list")
    return redirect("dashboard:project-settings", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_settings(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    now_named = {"name": collection.name, "description": collection.description}
    form = CollectionNameForm(request.POST or None, initial=now_named, collection=collection, by=user_of(request))
    if not form.is_valid():
        context = {"collection": collection, "form": form}
        return render(request, "dashboard/collection_settings.html", context, status=422 if form.is_bound else 200)
    rename_collection(collection=collection, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect("images:collection-show", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    collection, by = collection_to_change(request.user, slug), user_of(request)
    name = {"name": _("Copy of %(name)s") % {"name": collection.name}}
    form = CollectionNameForm(request.POST or None, initial=name, collection=collection, by=by, is_copy=True)
    if not form.is_valid():
        context = {"collection": collection, "form": form}
        return render(request, "dashboard/collection_duplicate.html", context, status=422 if form.is_bound else 200)
    made = duplicate_collection(collection=collection, name=form.cleaned_data["name"], by=by, now=timezone.now())
    messages.success(request, _("The collection was made."))
    return redirect("images:collection-show", made.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def collection_delete(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_to_change(request.user, slug)
    if request.method != "POST":
        context = {"collection": collection, "uses": uses_of(collection, user_of(request))}
        context["images"] = collection.entries.count()
        return render(request, "dashboard/collection_delete.html", context)
    with RefusalsShown(request, CollectionUsedError):
        delete_trials_of(collection)
        delete_collection(collection=collection, by=user_of(request), now=timezone.now())
        messages.success(request, _("%(name)s was deleted.") % {"name": collection.name})
        return redirect("images:collection-list")
    return redirect("dashboard:collection-delete", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def image_take_out(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    """Take an image out of its collection, leave it out of results, or count it again."""
    collection = collection_to_change(request.user, slug)
    entry, form = entry_of(collection, public_id), LeaveOutForm(request.POST if "leave-out" in request.POST else None)
    if request.method != "POST" or (form.is_bound and not form.is_valid()):
        context = {"collection": collection, "entry": entry, "uses": uses_of_image(entry), "form": form}
        return render(request, "dashboard/image_take_out.html", context, status=422 if form.is_bound else 200)
    who: dict[str, Any] = {"by": user_of(request), "now": timezone.now()}
    if form.is_bound:
        leave_out_image(entry=entry, reason=form.cleaned_data["reason"], **who)
        messages.success(request, _("%(name)s is left out of results.") % {"name": entry.key})
        return redirect("images:collection-image-show", slug, public_id)
    if "count" in request.POST:
        count_image_again(entry=entry, **who)
        messages.success(request, _("%(name)s counts in results again.") % {"name": entry.key})
        return redirect("images:collection-image-show", slug, public_id)
    return _taken_out(request, entry, who)


def _taken_out(request: HttpRequest, entry: CollectionImage, who: dict[str, Any]) -> HttpResponse:
    slug = entry.collection.slug
    with RefusalsShown(request, CollectionUsedError):
        take_out_image(entry=entry, **who)
        messages.success(request, _("%(name)s was taken out of the collection.") % {"name": entry.key})
        return redirect("images:collection-show", slug)
    return redirect("dashboard:image-take-out", slug, entry.image.public_id)


@require_safe
def setup_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    context = {"project": project, "setup": setup_of(project, released=is_released(project), now=timezone.now())}
    return render(request, "dashboard/setup.html", context)
