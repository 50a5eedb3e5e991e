"""Look through images with their captions: one of a project, and those of a release by language, place and text."""

from __future__ import annotations

import random
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.formats.release_index import ReleaseIndex
from annotation.models import Release
from annotation.pages.images import image_page, images_page, project_image_page, wanted_of
from annotation.permissions import image_for, is_assigned_image, release_for
from annotation.services.release_indexes import index_path
from annotation.views.shared import kept_away
from core.jobs.models import JobState
from core.people.requests import user_of


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
    if elsewhere := _kept_away(request, release):
        return elsewhere
    with _opened(release) as index:
        listing = images_page(
            index, user_of(request), wanted=wanted_of(request.GET), number=request.GET.get("page", "1")
        )
    return render(request, "annotation/release_images.html", _about(release) | {"listing": listing})


@require_safe
def release_image(request: HttpRequest, slug: str, number: int, image_number: int) -> HttpResponse:
    release = release_for(request.user, slug, number)
    if elsewhere := _kept_away(request, release):
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
    if elsewhere := _kept_away(request, release):
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


def _kept_away(request: HttpRequest, release: Release) -> HttpResponse | None:
    why = _("The pages have other people’s captions of images in a batch that is assigned to you. Submit "
        "that batch first.")  # fmt: skip
    return kept_away(request, release.project, why, "annotation:release-show", release.project.slug, release.number)


def _about(release: Release) -> dict[str, object]:
    return {"project": release.project, "release": release}
