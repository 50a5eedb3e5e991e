"""Which images come to nobody, what waits in a project's inbox, and what is stored of a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from core.conversation.models import HELD, WAITING, ImageReport, ReportedImage
from core.languages.models import Language
from core.people.models import Project, User
from core.people.personal_data import ExportPart

ON_A_PAGE = 20


_assigned: list[Callable[[User], QuerySet[Any, Any]]] = []


def register_assigned(images: Callable[[User], QuerySet[Any, Any]]) -> None:
    """Register the images that a person writes about now: what was said about them may quote an English caption."""
    _assigned.append(images)


def is_assigned(person: User, image: str) -> Q:
    """Build the condition that `person` must not read what was said about the image at the path `image`."""
    condition = Q(pk__in=[])
    for images in _assigned:
        condition |= Q(**{f"{image}__in": images(person)})
    return condition


def is_held(project: int, image: str) -> Q:
    """Build the condition that the image at the path `image` comes to nobody in `project`."""
    held = ReportedImage.objects.filter(project=project, state__in=HELD)
    return Q(**{f"{image}__in": held.values("image")})


def is_reported_by(person: User, image: str) -> Q:
    """Build the condition that `person` reported the image at the path `image`."""
    return Q(**{f"{image}__in": ImageReport.objects.filter(person=person).values("reported__image")})


def reported_images(
    project: Project, *, reader: User, is_waiting: bool = True, language: str = ""
) -> QuerySet[ReportedImage]:
    """List reported images, the newest report first, with the reports that `reader` may read."""
    found = ReportedImage.objects.filter(project=project)
    found = found.filter(state__in=WAITING) if is_waiting else found.exclude(state__in=WAITING)
    if language:
        found = found.filter(Q(reports__language=language)).distinct()
    readable = ImageReport.objects.exclude(is_assigned(reader, "reported__image"))
    reports = Prefetch("reports", readable.select_related("person", "language"), to_attr="readable")
    return found.select_related("image", "decided_by").prefetch_related(reports).order_by("-reported_at", "-pk")


def page_of(rows: QuerySet[Any], number: str | None) -> Page[Any]:
    return Paginator(rows, ON_A_PAGE).get_page(number)


def languages_of(project: Project) -> list[Language]:
    tags = ImageReport.objects.filter(reported__project=project).values("language")
    return list(Language.objects.filter(pk__in=tags))


def waiting_by_project(projects: Collection[int]) -> dict[int, int]:
    """Count what a manager has to answer."""
    waiting = ReportedImage.objects.filter(project__in=projects, state__in=WAITING)
    return dict(waiting.order_by().values_list("project").annotate(Count("pk")))


def data_export(person: User) -> Iterator[ExportPart]:
    reports = ImageReport.objects.filter(person=person).exclude(is_assigned(person, "reported__image"))
    yield ExportPart(
        "reports",
        _("Images that you reported."),
        reports.values("at", "item", "language", "reason", "comment", project_slug=F("reported__project__slug")),
    )
