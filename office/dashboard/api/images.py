"""The images of a project, with the filters of their page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.api.shapes import ImageSerializer, image_shown
from core.images.models import CollectionImage
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.pseudonyms import person_called
from core.people.api.requested import asked_language
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from office.dashboard.pages.images import IN_ADDRESS
from office.dashboard.selectors.images import ALL, LACKING, NONE, SOME, ImageQuery, ProjectImages

api = ApiOperations("projects")
FILTERS = [
    OpenApiParameter("find", str, description="Words that the key, file name or title of an image has, all of them."),
    OpenApiParameter("language", str, description="What counts for `person` and `state`: this language, by its tag."),
    OpenApiParameter("person", str, description="Only images with a caption by this person, by their pseudonym."),
    OpenApiParameter(
        "state",
        str,
        enum=[NONE, SOME, LACKING, ALL],
        description="Only images that are not described, described, not described in all languages, or in all.",
    ),
    OpenApiParameter("author", str, description="Words that the author of an image has, all of them."),
    OpenApiParameter("licence", str, description="Only images with this licence; “none”: only those without any."),
    OpenApiParameter("source", str, description="Words that the source of an image has, all of them."),
]


@api.list(
    "images",
    "The images of a project",
    "ImagePage",
    ImageSerializer,
    description="The images of its own collections and of those that its rounds and comparisons use, with the filters "
    "of the page.",
    parameters=FILTERS,
)
def image_list(request: Request, slug: str) -> Response:
    user = person_asking(request)
    images = ProjectImages(project_for(user, slug, *READERS))
    return page(
        request,
        _parts(_entries(images, _asked(request, images))),
        order=["position", "pk"],
        show=lambda rows: [image_shown(entry, user) for entry in rows],
    )


def _asked(request: Request, images: ProjectImages) -> dict[str, Any]:
    """Return the filters that were sent, as the page has them."""
    asked: dict[str, Any] = {name: request.query_params.get(name, "") for name in IN_ADDRESS}
    if language := asked_language(request, images.tags):
        asked["languages"] = [language]
    if pseudonym := request.query_params.get("person"):
        asked["person"] = person_called(pseudonym, images.project, images.authors).pk
    return {name: value for name, value in asked.items() if value}


def _entries(images: ProjectImages, asked: dict[str, Any]) -> QuerySet[CollectionImage]:
    if not asked:
        return images.entries
    return images.entries.filter(pk__in=[row.pk for row in images.found(ImageQuery(**asked))])


def _parts(entries: QuerySet[CollectionImage]) -> Iterator[ListPart[CollectionImage]]:
    collections = entries.order_by("collection_id").values_list("collection_id", flat=True).distinct()
    shown = entries.select_related("image", "collection")
    return (ListPart(pk, shown.filter(collection=pk)) for pk in collections)
