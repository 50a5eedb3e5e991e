"""The people of a project and their roles, for its managers."""

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
from core.people.models import Membership, Role
from core.people.permissions import project_for
from core.people.services.members import LastManagerError, remove_member

api = ApiOperations("projects")
explain({"last-manager": "A project needs at least one manager."})


class MemberSerializer(serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Role.choices)

    class Meta:
        model = Membership
        fields = ("id", "username", "role", "joined_at")
        read_only_fields = fields


@api.list(
    "members",
    "The people of a project",
    "MemberPage",
    MemberSerializer,
    description="A row for each role of each person, by user name.",
)
def member_list(request: Request, slug: str) -> Response:
    rows = project_for(person_asking(request), slug, Role.MANAGER).memberships.select_related("user")
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(MemberSerializer))


@api.delete(
    "member_remove",
    "Take a role away from somebody",
    description="What they submitted stays.",
    is_for_archived=True,
)
def member_remove(request: Request, slug: str, pk: int) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    membership = get_object_or_404(project.memberships.select_related("user"), pk=pk)
    with refused_as("last-manager", LastManagerError):
        remove_member(membership=membership, by=person_asking(request), now=timezone.now())
    return Response(status=204)
