"""The people of a project and their roles, for its managers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import explain, refused_as
from core.people.api.views import person_asking
from core.people.models import Membership, Role
from core.people.permissions import person_with_link, project_for
from core.people.services.members import LastManagerError, remove_member
from core.people.services.personal_links import LinkError, LinkNotSentError, replace_link, revoke_link

api = ApiOperations("projects")
explain(
    {
        "last-manager": "A project needs at least one manager.",
        "link-refused": "The person signs in otherwise, or takes part in projects that you do not manage.",
        "link-not-sent": "The new link could not be mailed. The old one goes on; try again in a few minutes.",
    }
)


class MemberSerializer(serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Role.choices)

    class Meta:
        model = Membership
        fields = ("id", "username", "role", "joined_at")
        read_only_fields = fields


class NewLinkSerializer(serializers.Serializer[Any]):
    link = serializers.CharField(
        allow_null=True,
        help_text="The whole address. Null where it was sent by e-mail, or an answer is given again.",
    )
    is_sent = serializers.BooleanField(help_text="To the e-mail address that the person confirmed.")


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


@api.post(
    "link_replace",
    "Give somebody another personal link in place of the one that they lost",
    {201: NewLinkSerializer},
    description="It signs in to the same account. The old one and what was signed in with it end.",
    secrets=("link",),
    is_for_archived=True,
)
def link_replace(request: Request, slug: str, pk: int) -> Response:
    by = person_asking(request)
    person = person_with_link(project_for(by, slug, Role.MANAGER), pk)
    site = request.build_absolute_uri("/")
    with refused_as("link-refused", LinkError), refused_as("link-not-sent", LinkNotSentError):
        address = replace_link(person=person, by=by, site=site, now=timezone.now())
    return Response({"link": address or None, "is_sent": not address}, status=201)


@api.delete(
    "link_revoke",
    "End somebody's personal link, and what was signed in with it",
    description="They can be given another one.",
    is_for_archived=True,
)
def link_revoke(request: Request, slug: str, pk: int) -> Response:
    by = person_asking(request)
    person = person_with_link(project_for(by, slug, Role.MANAGER), pk)
    with refused_as("link-refused", LinkError):
        revoke_link(person=person, by=by, now=timezone.now())
    return Response(status=204)


link_replace_or_revoke = one_address(link_replace, link_revoke)
