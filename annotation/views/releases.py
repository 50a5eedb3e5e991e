"""Releases: the list of them, starting one, its progress, files and images; and the page of an image of a project."""

from __future__ import annotations

import random
from uuid import UUID

from django.contrib import messages
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.formats.release_index import ReleaseIndex
from annotation.forms.releases import ReleaseForm
from annotation.models import Release
from annotation.pages.releases import image_page, images_page, project_image_page, release_page, wanted_of
from annotation.permissions import image_for, is_assigned_image, release_for
from annotation.selectors.details import undecided_for_release
from annotation.selectors.releases import images_left_out, missing_for_release, releases_of
from annotation.services import releases as services
from annotation.services.references import use_release_as_references
from annotation.services.releases import index_path
from annotation.views.shared import kept_away, kept_from_file
from core.jobs.models import JobState
from core.people.models import Role
from core.people.permissions import READERS, project_for
from core.people.requests import is_htmx, user_of
from research.scoring.services.references import ReferenceFileError


@require_safe
def release_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    return render(request, "annotation/releases.html", {"project": project, "releases": releases_of(project)})


@require_http_methods(["GET", "HEAD", "POST"])
def release_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = ReleaseForm(request.POST or None, project=project)
    if form.is_valid():
        try:
            release = services.start_release(
                project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data
            )
        except services.ReleaseSettingsError as refused:
            for problem in refused.problems:
                form.add_error(None, problem)
        else:
            tasks.ask_for_release(release.pk)
            return redirect("annotation:release-show", slug, release.number)
    context = {"project": project, "form": form, "lacking": [] if form.is_bound else missing_for_release(project)}
    context |= {"left_out": len(images_left_out(project)), "undecided": undecided_for_release(project)}
    return render(request, "annotation/release_create.html", context, status=422 if form.is_bound else 200)


@require_safe
def release_show(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return render(request, "annotation/release.html", release_page(release_for(request.user, slug, number)))


@require_safe
def release_progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Render the part that refreshes itself; at the end the whole page is loaded again."""
    release = release_for(request.user, slug, number)
    if not is_htmx(request):
        return redirect("annotation:release-show", slug, number)
    page = release_page(release)
    response = render(request, "annotation/_release_progress.html", page)
    if not page["is_going"]:
        response["HX-Refresh"] = "true"
    return response


@require_safe
def release_archive(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    release = release_for(request.user, slug, number)
    return _download(request, release, release.archive, f"{services.name_of(release)}.tar.gz")


@require_safe
def release_file(request: HttpRequest, slug: str, number: int, name: str) -> HttpResponseBase:
    release = release_for(request.user, slug, number)
    if name not in {file["name"] for file in release.counts.get("files", [])}:
        raise Http404(_("There is no such file in this release."))
    return _download(request, release, f"{release.folder}/{name}", name.rpartition("/")[2])


@require_POST
def release_references(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Make its captions references, which models are scored against and trained on."""
    release = release_for(request.user, slug, number)
    if release.state != JobState.DONE:
        raise Http404(_("This release has no files."))
    try:
        made = use_release_as_references(release=release, by=user_of(request), now=timezone.now())
    except ReferenceFileError as refused:
        messages.error(request, str(refused))
        return redirect("annotation:release-show", slug, number)
    count = sum(one.captions for one in made)
    text = ngettext("%(number)d caption is now a reference.", "%(number)d captions are now references.", count)
    messages.success(request, text % {"number": count})
    return redirect("scoring:reference-list", slug)


def _download(request: HttpRequest, release: Release, stored: str, name: str) -> HttpResponseBase:
    if release.state != JobState.DONE:
        raise Http404(_("This release has no files."))
    about = (release.project.slug, release.number)
    if elsewhere := kept_from_file(request, release.project, "annotation:release-show", *about):
        return elsewhere
    try:
        file = default_storage.open(stored)
    except FileNotFoundError as error:
        raise Http404(_("The file is no longer in storage. Ask the administrator of this site.")) from error
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/octet-stream")


@require_safe
def image_show(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    project, entry = image_for(request.user, slug, public_id)
    if is_assigned_image(user_of(request), entry.image):
        messages.error(
            request,
            _("This image is in a batch that is assigned to you, and the page has what others wrote. "
              "Submit that batch first."),
        )  # fmt: skip
        return redirect("annotation:project-show", slug)
    page = project_image_page(entry, project, user_of(request))
    return render(request, "annotation/image.html", {"project": project, "page": page})


@require_safe
def release_images(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    release = release_for(request.user, slug, number)
    if elsewhere := kept_away(request, release.project, "annotation:release-show", slug, number):
        return elsewhere
    with _opened(release) as index:
        listing = images_page(
            index, user_of(request), wanted=wanted_of(request.GET), number=request.GET.get("page", "1")
        )
    return render(request, "annotation/release_images.html", _about(release) | {"listing": listing})


@require_safe
def release_image(request: HttpRequest, slug: str, number: int, image_number: int) -> HttpResponse:
    release = release_for(request.user, slug, number)
    if elsewhere := kept_away(request, release.project, "annotation:release-show", slug, number):
        return elsewhere
    with _opened(release) as index:
        page = image_page(index, user_of(request), number=image_number)
    if page is None:
        raise Http404(_("This release has no such image."))
    return render(request, "annotation/release_image.html", _about(release) | {"page": page})


@require_safe
def release_image_random(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Lead to a random image among those that the filters leave."""
    release = release_for(request.user, slug, number)
    if elsewhere := kept_away(request, release.project, "annotation:release-show", slug, number):
        return elsewhere
    with _opened(release) as index:
        numbers = index.numbers(wanted_of(request.GET))
    if not numbers:
        return redirect("annotation:release-images", slug, number)
    response = redirect("annotation:release-image", slug, number, random.SystemRandom().choice(numbers))
    response["Cache-Control"] = "no-store"
    return response


def _opened(release: Release) -> ReleaseIndex:
    if release.state != JobState.DONE:
        raise Http404(_("This release has no files."))
    try:
        return ReleaseIndex(index_path(release))
    except FileNotFoundError as error:
        raise Http404(_("The file is no longer in storage. Ask the administrator of this site.")) from error


def _about(release: Release) -> dict[str, object]:
    return {"project": release.project, "release": release}
