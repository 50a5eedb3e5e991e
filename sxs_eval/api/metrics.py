"""How far automatic metrics agree with people, over the comparisons of a project."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain
from core.people.api.requested import check_form
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals
from sxs_eval.formats.metric_gains import content_of
from sxs_eval.forms.results import MAX_IMAGES, PointsForm
from sxs_eval.selectors.across import UnknownReferencesError, evaluations_of

api = ApiOperations("comparisons")
explain({"references-refused": "No compared models are scored against references of this name."})


class MetricAgreementSerializer(serializers.Serializer[Any]):
    """The file of *Metrics against people*. See docs/side-by-side-files.md."""

    evaluations = serializers.ListField(child=serializers.DictField(), help_text="A row per comparison.")
    correlations = serializers.DictField(
        allow_null=True,
        help_text="As `manage.py correlate --json` prints them; null without judged comparisons or scores.",
    )


@api.get(
    "metric_agreement",
    "How far metrics agree with people",
    MetricAgreementSerializer,
    parameters=[
        IMAGES,
        OpenApiParameter("references", str, description="Only scores against the references of this name."),
        OpenApiParameter(
            "flip", str, enum=["yes", "no"], description="Whether each comparison also counts turned round."
        ),
        OpenApiParameter(
            "min_images",
            {"type": "integer", "minimum": 0, "maximum": MAX_IMAGES},
            description="Only comparisons with so many images judged.",
        ),
        OpenApiParameter("with_chosen", bool, description="Also comparisons that were planned because of the metric."),
    ],
)
def metric_agreement(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    points = PointsForm.asked(request.query_params)
    check_form(points)
    images, name = asked_filter(request, project), request.query_params.get("references", "")
    try:
        with image_filter_refusals():
            evaluations = evaluations_of(project, images, references=name)
    except UnknownReferencesError as error:
        message = _("No comparison has models that are scored against references called “%(name)s”. Choose others.")
        raise ApiError(409, "references-refused", message % {"name": name}) from error
    return Response(content_of(evaluations, points.rules))
