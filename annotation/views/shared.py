"""What several views of managers share: who must wait to see captions, which images are asked for, numbers sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.permissions import MAX_KEY_DIGITS, has_assigned_images
from core.people.models import Project
from core.people.requests import is_htmx, user_of
from research.selection.pages.image_filters import AskedImages, asked_images, with_reason
from research.selection.rules.image_filters import ImageFilter, ImageFilterError

T = TypeVar("T")


def kept_away(request: HttpRequest, project: Project, view: str, *args: object, why: str = "") -> HttpResponse | None:
    """Lead people who have to write about images of the project to another page: they must not see others' captions."""
    if not has_assigned_images(user_of(request), project):
        return None
    of_page = _("This page has other people’s captions of images in a batch that is assigned to you. Submit that "
        "batch first, or ask somebody else to look.")  # fmt: skip
    messages.error(request, why or of_page)
    where = reverse(view, args=args)
    return HttpResponse(headers={"HX-Redirect": where}) if is_htmx(request) else redirect(where)


def kept_from_file(request: HttpRequest, project: Project, view: str, *args: object) -> HttpResponse | None:
    why = _("The file has other people’s captions of images in a batch that is assigned to you. Submit "
        "that batch first, or ask somebody else for the file.")  # fmt: skip
    return kept_away(request, project, view, *args, why=why)


def over_images(
    request: HttpRequest, project: Project, figures: Callable[[ImageFilter], T]
) -> tuple[AskedImages, T | None]:
    """Compute figures over the images that the address asks for; None, and the reason, if that is not possible."""
    asked = asked_images(request.GET, project, collections=project.rounds.values("collection"))
    try:
        return asked, None if asked.error else figures(asked.filter)
    except ImageFilterError as error:
        return with_reason(asked, error), None


def number_sent(value: str | None) -> int:
    """Read a number that may be a primary key; 0 for anything else."""
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) < MAX_KEY_DIGITS else 0
