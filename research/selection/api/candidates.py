"""Lists of candidates, from which images are chosen."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, refused_as
from core.people.api.views import person_asking
from core.people.models import Role
from core.people.permissions import READERS, project_for
from research.selection.models import CandidateList
from research.selection.selectors.pools import is_complete, lists_of
from research.selection.services.candidates import CandidatesRefusedError, delete_list

api = ApiOperations("selections")
explain({"candidates-in-use": "A selection uses the list, so that it cannot be deleted."})


class CandidateListSerializer(serializers.ModelSerializer[CandidateList]):
    kept = serializers.SerializerMethodField(help_text="How many candidates it has.")
    is_complete = serializers.SerializerMethodField(help_text="Whether images can be chosen from it.")

    class Meta:
        model = CandidateList
        fields = ("slug", "name", "source_name", "kept", "is_complete", "created_at")
        read_only_fields = fields

    def get_kept(self, row: CandidateList) -> int:
        return int(row.counts.get("kept", 0))

    def get_is_complete(self, row: CandidateList) -> bool:
        return is_complete(row)


@api.list("candidates", "The candidate lists of a project", "CandidateListPage", CandidateListSerializer)
def candidates_list(request: Request, slug: str) -> Response:
    rows = lists_of(project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(CandidateListSerializer))


@api.delete("candidates_delete", "Delete a candidate list that no selection uses")
def candidates_delete(request: Request, slug: str, list_slug: str) -> Response:
    by = person_asking(request)
    candidates = get_object_or_404(lists_of(project_for(by, slug, Role.MANAGER)), slug=list_slug)
    with refused_as("candidates-in-use", CandidatesRefusedError):
        delete_list(candidates=candidates, by=by, now=timezone.now())
    return Response(status=204)
