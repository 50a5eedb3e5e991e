"""What needs the person who asks, over all projects that they manage or do research in."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.permissions import check_reader
from office.dashboard.models import DismissedNeed
from office.dashboard.rules.needs import NeedKind
from office.dashboard.selectors.needs import needs_of
from office.dashboard.services.choices import dismiss_need

api = ApiOperations("projects")


class NeedSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(NeedKind.choices)
    text = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    url = serializers.CharField(help_text="The page on which it is done.")
    at = serializers.DateTimeField(allow_null=True)
    about = serializers.CharField(allow_blank=True, help_text="Of what failed: send it to take it off the list.")


class ProjectNeedsSerializer(serializers.Serializer[Any]):
    project = serializers.SlugField(source="slug", allow_blank=True, help_text="Empty for what is in no project yet.")
    name = serializers.CharField()
    needs = NeedSerializer(many=True)


class NeedsSerializer(serializers.Serializer[Any]):
    results = ProjectNeedsSerializer(many=True)


class DismissedSerializer(serializers.ModelSerializer[DismissedNeed]):
    class Meta:
        model = DismissedNeed
        fields = ("about",)


@api.get("needs", "What needs you: decisions, people who wait, deadlines, failures", NeedsSerializer)
def need_list(request: Request) -> Response:
    check_reader(person_asking(request))
    listed = needs_of(person_asking(request), now=timezone.now())
    return Response(NeedsSerializer({"results": listed}).data)


@api.post("need_dismiss", "Take what failed off your list", {204: None}, request=DismissedSerializer, has_key=False)
def need_dismiss(request: Request) -> Response:
    check_reader(person_asking(request))
    dismiss_need(person=person_asking(request), now=timezone.now(), **validated_data(DismissedSerializer, request))
    return Response(status=204)
