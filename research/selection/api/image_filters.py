"""The parameter `images` of the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from core.people.api.problems import ApiError, explain
from core.people.models import Project
from research.selection.rules.image_filters import EXAMPLES, MAX_FILTER_CHARACTERS, ImageFilter, ImageFilterError, parse
from research.selection.selectors.subsets import check

explain({"images-refused": "The image filter cannot be understood or applied; errors say why."})

IMAGES = OpenApiParameter(
    "images",
    {"type": "string", "maxLength": MAX_FILTER_CHARACTERS},
    description=f"Only these images: {EXAMPLES}; all of several, separated by commas, must hold.",
)


def asked_filter(request: Request, project: Project) -> ImageFilter:
    """Read the parameter; a wrong one is refused with the reason."""
    text = request.query_params.get("images", "")
    if len(text) > MAX_FILTER_CHARACTERS:
        said = _("An image filter has at most %(limit)d characters.") % {"limit": MAX_FILTER_CHARACTERS}
        raise serializers.ValidationError({"images": [said]})
    with image_filter_refusals():
        return check(parse(text.replace("\0", "?")), project=project)


@contextmanager
def image_filter_refusals() -> Iterator[None]:
    """Answer an ImageFilterError, of an unknown subset for one, with 409 and the reason."""
    try:
        yield
    except ImageFilterError as error:
        raise ApiError(409, "images-refused", str(error), {"images": [str(error)]}) from error
