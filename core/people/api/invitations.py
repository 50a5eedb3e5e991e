"""Invitations into a project, for its managers: list them, invite people, send again, extend and revoke."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.tasks import ask_for_sweep
from core.people.api.forms import filled_form, form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.problems import ApiError, explain
from core.people.api.requested import check_form, validated_data
from core.people.api.views import person_asking
from core.people.forms.invitations import (
    DAYS,
    EACH,
    MAX_CHANGED,
    MAX_PLACES,
    ONE,
    AddressesForm,
    ChangeForm,
    InvitationForm,
    InvitationsFilterForm,
)
from core.people.models import Invitation, Project, Role
from core.people.permissions import project_for
from core.people.rules.invitations import InvitationAction, InvitationState
from core.people.selectors.invitations import InvitationRow, InvitationsShown, invitations_of, rows_of
from core.people.services.invitations import InvitationMailing, change_many, invite_many
from core.people.services.texts import ConsentGapsError

api = ApiOperations("invitations")
explain({"consent-gaps": "The consent text does not say who to ask, or the licence. Fill it in, then invite."})


def days_valid() -> serializers.ChoiceField:
    return serializers.ChoiceField([1, 7, 14, 30, 90], default=DAYS, help_text="How long it is valid.")


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
    link = serializers.SerializerMethodField(help_text="Whoever has it can join. Null where an answer is given again.")

    def get_languages(self, row: InvitationRow) -> list[str]:
        return [language.pk for language in row.invitation.languages.all()]

    def get_link(self, row: InvitationRow) -> str | None:
        address = reverse("people:invitation-accept", args=[row.invitation.token])
        return str(self.context["request"].build_absolute_uri(address))


class InvitationsSerializer(serializers.Serializer[Any]):
    results = InvitationSerializer(many=True)


class NewInvitationSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(Role.choices)
    languages = serializers.ListField(child=serializers.CharField(), default=list, help_text="Tags.")
    links = serializers.ChoiceField([ONE, EACH], default=ONE, help_text="One link, or one for each language.")
    places = serializers.IntegerField(min_value=1, max_value=MAX_PLACES, default=1, help_text="How many can join.")
    days = days_valid()
    email = serializers.EmailField(allow_blank=True, default="")
    note = serializers.CharField(max_length=200, allow_blank=True, default="", help_text="Only managers see it.")


AddressesSerializer = form_shape(
    "Addresses",
    AddressesForm,
    omit=("file",),
    days=days_valid(),
    text=serializers.CharField(help_text="CSV with the columns address, languages, role and note."),
)
InvitationChangeSerializer = form_shape(
    "InvitationChange",
    ChangeForm,
    omit=("chosen", "is_confirmed"),
    days=days_valid(),
    invitations=serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=10**12 - 1),
        min_length=1,
        max_length=MAX_CHANGED,
        help_text="Their IDs.",
    ),
)


class AddressSerializer(serializers.Serializer[Any]):
    """A line of the list. The link of each is in the list of invitations once they are invited."""

    number = serializers.IntegerField()
    address = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)
    languages = serializers.ListField(child=serializers.CharField(), source="tags")
    note = serializers.CharField(allow_blank=True)


class AddressesAnswerSerializer(serializers.Serializer[Any]):
    are_invited = serializers.BooleanField()
    lines = AddressSerializer(many=True)


class LeftOutInvitationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="invitation.pk")
    reason = serializers.CharField()


class InvitationChangeAnswerSerializer(serializers.Serializer[Any]):
    done = serializers.IntegerField(help_text="How many were changed.")
    mails = serializers.IntegerField(help_text="How many e-mails are being sent.")
    left_out = LeftOutInvitationSerializer(many=True)


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
    check_form(form)

    rows = invitations_of(project, wanted, now=now)
    return page(request, [ListPart(0, rows)], order=["pk"], show=lambda rows: _shown(request, rows))


@api.post(
    "invitation_create",
    "Invite people",
    {201: InvitationsSerializer},
    request=NewInvitationSerializer,
    description="Makes one link, or one for each language. With an address, the link is sent there.",
    secrets=("link",),
)
def invitation_create(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = InvitationForm(validated_data(NewInvitationSerializer, request))
    check_form(form)
    return Response({"results": _shown(request, _invite(request, project, form))}, status=201)


@api.post(
    "invitation_addresses",
    "Invite everybody of a list of addresses",
    {200: AddressesAnswerSerializer, 201: AddressesAnswerSerializer},
    request=AddressesSerializer,
    description="Without `is_confirmed`, the list is only checked. With it, each address is sent a link.",
)
def invitation_addresses(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = sent_form(request, AddressesSerializer, partial(AddressesForm, project=project, now=timezone.now()))
    is_confirmed = form.cleaned_data["is_confirmed"]
    if is_confirmed:
        _invite(request, project, form)
    body = AddressesAnswerSerializer({"are_invited": is_confirmed, "lines": form.lines}).data
    return Response(body, status=201 if is_confirmed else 200)


@api.post(
    "invitation_change",
    "Send invitations again, extend or revoke them",
    {200: InvitationChangeAnswerSerializer},
    request=InvitationChangeSerializer,
    description="Those for which it is possible; the answer says why others were left out.",
)
def invitation_change(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    sent = validated_data(InvitationChangeSerializer, request)
    form = filled_form(ChangeForm, sent | {"chosen": ",".join(map(str, sent.pop("invitations")))})
    changed = change_many(
        project=project,
        invitations=form.pks,
        action=InvitationAction(form.cleaned_data["action"]),
        valid_for=form.valid_for,
        sends=form.cleaned_data["sends"],
        mailing=_mailing(request),
        now=timezone.now(),
    )
    ask_for_sweep()
    return Response(InvitationChangeAnswerSerializer(changed).data)


def _invite(request: Request, project: Project, form: InvitationForm | AddressesForm) -> list[Invitation]:
    now = timezone.now()
    try:
        made = invite_many(
            project=project,
            wanted=form.wanted(),
            expires_at=form.expires_at(now),
            created_by=person_asking(request),
            mailing=_mailing(request),
            now=now,
        )
    except ConsentGapsError as refused:
        raise ApiError(409, "consent-gaps", refused) from refused
    ask_for_sweep()
    return made


def _mailing(request: Request) -> InvitationMailing:
    site = request.build_absolute_uri("/")
    return InvitationMailing(by=person_asking(request), site=site, language=get_language() or "")


def _shown(request: Request, invitations: Sequence[Invitation]) -> Any:
    rows = rows_of(invitations, now=timezone.now())
    return InvitationSerializer(rows, many=True, context={"request": request}).data


invitation_list_or_create = one_address(invitation_list, invitation_create)
