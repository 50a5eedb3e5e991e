"""Sets of reference captions, for managers and researchers."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from research.scoring.models import ReferenceKind, ReferenceSet
from research.scoring.permissions import reference_set_for
from research.scoring.selectors.setup import reference_sets

api = ApiOperations("scores")


class ReferenceSetSerializer(serializers.ModelSerializer[ReferenceSet]):
    language = serializers.CharField(source="language_id")
    collection = serializers.SlugField(source="collection.slug")
    kind = serializers.ChoiceField(ReferenceKind.choices)

    class Meta:
        model = ReferenceSet
        fields = (
            *("id", "name", "language", "collection", "kind", "source", "is_evaluation"),
            *("images", "captions", "created_at", "changed_at"),
        )
        read_only_fields = fields


@api.list("references", "The reference captions of a project", "ReferenceSetPage", ReferenceSetSerializer)
def reference_list(request: Request, slug: str) -> Response:
    rows = reference_sets(project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(ReferenceSetSerializer))


@api.get("reference_set", "A set of reference captions", ReferenceSetSerializer)
def reference_show(request: Request, slug: str, set_id: int) -> Response:
    return Response(ReferenceSetSerializer(reference_set_for(person_asking(request), slug, set_id)).data)
