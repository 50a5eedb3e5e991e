"""The parameter `images` of the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from corpora.rules.image_filters import EXAMPLES, LONGEST, ImageFilter, ImageFilterError, parse
from corpora.selectors.subsets import check
from people.models import Project

IMAGES = OpenApiParameter(
    "images",
    {"type": "string", "maxLength": LONGEST},
    description=f"Only these images: {EXAMPLES}; all of several, separated by commas, must hold.",
)


def asked_filter(request: Request, project: Project) -> ImageFilter:
    """Read the parameter; a wrong one is refused with the reason."""
    with image_filter_refusals():
        return check(parse(request.query_params.get("images", "").replace("\0", "?")), project=project)


@contextmanager
def image_filter_refusals() -> Iterator[None]:
    """Answer an ImageFilterError, of a language that the table lacks for one, with 422 and the reason."""
    try:
        yield
    except ImageFilterError as error:
        raise serializers.ValidationError({"images": [str(error)]}) from error
