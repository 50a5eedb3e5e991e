"""Raters' judgements, in the columns of the files of judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.problems import ApiError
from core.people.api.requested import MAX_ID, asked_id
from core.people.api.views import person_asking
from core.people.models import User
from core.people.permissions import READERS, project_for
from sxs_eval.formats.judgement_export import COLUMNS, rows_of_judgements
from sxs_eval.models import Comparison, Judgement, RaterState, RaterStatus
from sxs_eval.permissions import comparison_for, has_assigned_images
from sxs_eval.selectors.results import comparisons_of

api = ApiOperations("comparisons")


class JudgementSerializer(serializers.Serializer[Any]):
    """The columns of the file of judgements, which docs/side-by-side-files.md explains."""

    def to_representation(self, row: Any) -> dict[str, Any]:
        return {name: value(row) for name, value in COLUMNS.items()}


@api.list(
    "judgements",
    "Raters' judgements of pairs of captions",
    "JudgementPage",
    JudgementSerializer,
    description="Of all comparisons that count in results, or of one. Includes judgements that do not count, with the "
    "reason. Pairs with equal captions that nobody was shown are only in the file of judgements.",
    parameters=[
        OpenApiParameter(
            "comparison",
            {"type": "integer", "minimum": 1, "maximum": MAX_ID},
            description="Only this comparison, by its ID.",
        )
    ],
)
def judgement_list(request: Request, slug: str) -> Response:
    chosen = _chosen(request, slug)
    check_no_assigned_images(person_asking(request), chosen)
    return page(
        request,
        _parts(chosen),
        order=["pk"],
        show=lambda rows: JudgementSerializer(_shown(rows, {one.pk: one for one in chosen}), many=True).data,
    )


def check_no_assigned_images(user: User, comparisons: list[Comparison]) -> None:
    """Refuse to show what models wrote about images while some of them are assigned to `user`.

    Raises ApiError.
    """
    if has_assigned_images(user, comparisons):
        raise ApiError(
            409,
            "images-assigned",
            _("You have a batch with images of this project, and this page shows what models wrote about them. "
                "Submit that batch first, or ask somebody else."),
        )  # fmt: skip


def _chosen(request: Request, slug: str) -> list[Comparison]:
    asked = asked_id(request, "comparison", _("The ID of a comparison: a whole number."))
    if asked is None:
        return comparisons_of(project_for(person_asking(request), slug, *READERS))
    return [comparison_for(person_asking(request), slug, asked)]


def _parts(comparisons: Sequence[Comparison]) -> Iterator[ListPart[Judgement]]:
    withdrawn = RaterStatus.objects.filter(state=RaterState.WITHDRAWN).values("person")
    for one in sorted(comparisons, key=lambda comparison: comparison.pk):
        answered = Judgement.objects.filter(comparison=one, choice__isnull=False)
        yield ListPart(one.pk, answered.exclude(person__in=withdrawn.filter(comparison=one)))


def _shown(rows: Sequence[Judgement], comparisons: dict[int, Comparison]) -> list[Any]:
    return [
        row
        for comparison, judged in groupby(rows, key=lambda row: row.comparison_id)
        for row in rows_of_judgements(comparisons[comparison], [one.pk for one in judged])
    ]
