"""The difference of two models in each metric, with its interval and p-values, as the page Compare has them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from charts import texts
from core.people.api.forms import form_parameters
from core.people.api.operations import ApiOperations
from core.people.api.requested import check_form
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from crosslens_metrics.paired import PairedDifference
from research.scoring.forms.scores import CompareForm
from research.scoring.pages.comparing import RESAMPLES, compared_figures, labels_of
from research.scoring.selectors.restricting import restriction
from research.scoring.selectors.scores import scoring_rows
from research.scoring.selectors.significance import SEED, PairedResult
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals

api = ApiOperations("scores")


class ComparedFigureSerializer(serializers.Serializer[Any]):
    metric = serializers.CharField()
    test = serializers.FloatField(allow_null=True, help_text="Its figure, on the metric's own scale.")
    base = serializers.FloatField(allow_null=True)
    images = serializers.IntegerField(help_text="Scored for both.")
    left_out = serializers.IntegerField(help_text="Images that only one of the two was scored on.")
    difference = serializers.FloatField(allow_null=True, help_text="Of the figures over these images.")
    low = serializers.FloatField(allow_null=True, help_text="Of the 95% interval of the difference.")
    high = serializers.FloatField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True, help_text="By Holm's method for all metrics of the answer.")
    smallest_p = serializers.FloatField(allow_null=True, help_text="The smallest that these images could have given.")
    why_undefined = serializers.CharField(allow_blank=True)
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="In what the signatures differ: then the two should not be compared."
    )


class ScoresComparedSerializer(serializers.Serializer[Any]):
    images = serializers.CharField(help_text="The image filter; empty for all images.")
    method = serializers.CharField()
    resamples = serializers.IntegerField()
    seed = serializers.IntegerField()
    results = ComparedFigureSerializer(many=True)


@api.get(
    "scores_compare",
    "The difference of two scorings in each metric",
    ScoresComparedSerializer,
    parameters=[
        *form_parameters(
            CompareForm,
            test="The ID of a scoring.",
            base="The ID of another one, against the same references. Above zero, `test` is better.",
        ),
        IMAGES,
    ],
)
def scores_compare(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    form = CompareForm(request.query_params, project=project, labels=labels_of(scoring_rows(project)))
    check_form(form)
    images, about = asked_filter(request, project), form.cleaned_data
    with image_filter_refusals():
        only = None if images.is_all else restriction(images, project=project)
        compared = compared_figures(about["test"], about["base"], method=about["method"], only=only)
    shown = {"images": str(images), "method": about["method"], "resamples": RESAMPLES, "seed": SEED}
    return Response(ScoresComparedSerializer(shown | {"results": [_line(*one) for one in compared]}).data)


def _line(result: PairedResult, corrected: float) -> dict[str, Any]:
    line: dict[str, Any] = {name: getattr(result, name) for name in ("metric", "images", "left_out", "warnings")}
    line |= {"test": result.test.value, "base": result.base.value, "why_undefined": ""}
    line |= dict.fromkeys(("difference", "low", "high", "p", "p_holm", "smallest_p"))
    found = result.difference
    if not isinstance(found, PairedDifference):
        return line | {"why_undefined": texts.reason_undefined(found)}
    line |= {"difference": found.difference, "p": found.p, "p_holm": corrected, "smallest_p": found.smallest_p}
    return line | ({"low": found.interval.low, "high": found.interval.high} if found.interval else {})
