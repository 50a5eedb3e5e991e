"""Invitations into a project, for its managers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.views import person_asking
from core.people.forms.invitations import InvitationsFilterForm
from core.people.models import Invitation, Role
from core.people.permissions import project_for
from core.people.rules.invitations import InvitationState
from core.people.selectors.invitations import InvitationRow, InvitationsShown, invitations_of, rows_of

api = ApiOperations("invitations")


class InvitationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="invitation.pk")
    role = serializers.ChoiceField(Role.choices, source="invitation.role")
    languages = serializers.SerializerMethodField(help_text="Tags; none for all languages.")
    email = serializers.CharField(source="invitation.email", allow_blank=True)
    note = serializers.CharField(source="invitation.note", allow_blank=True)
    places = serializers.IntegerField(source="invitation.places")
    places_taken = serializers.IntegerField(source="invitation.places_taken")
    state = serializers.ChoiceField(InvitationState.choices)
    created_at = serializers.DateTimeField(source="invitation.created_at")
    expires_at = serializers.DateTimeField(source="invitation.expires_at")
    link = serializers.SerializerMethodField(help_text="Whoever has it can join.")

    def get_languages(self, row: InvitationRow) -> list[str]:
        return [language.pk for language in row.invitation.languages.all()]

    def get_link(self, row: InvitationRow) -> str:
        address = reverse("people:invitation-accept", args=[row.invitation.token])
        return str(self.context["request"].build_absolute_uri(address))


@api.list(
    "invitations",
    "The invitations into a project",
    "InvitationPage",
    InvitationSerializer,
    parameters=[
        OpenApiParameter("shown", str, enum=InvitationsShown.values, description="Only those in this state."),
        OpenApiParameter("role", str, enum=Role.values, description="Only those for this role."),
        OpenApiParameter("language", str, description="Only those for this language, by its tag."),
        OpenApiParameter("words", str, description="Only those with these words in their address or note."),
    ],
)
def invitation_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = InvitationsFilterForm(request.query_params, project=project)
    wanted, now = form.wanted(), timezone.now()
    if form.errors:
        raise serializers.ValidationError({name: [*reasons] for name, reasons in form.errors.items()})

    def show(rows: Sequence[Invitation]) -> Any:
        return InvitationSerializer(rows_of(rows, now=now), many=True, context={"request": request}).data

    return page(request, [ListPart(0, invitations_of(project, wanted, now=now))], order=["pk"], show=show)
