"""The campaign of a project as a file: read it, plan what another would change, apply it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.refusals import check_no_assigned_images
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import ApiError, explain
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import manages_anything, project_for
from office.dashboard.formats.campaign_file import CONTENT_TYPE, CampaignFileError, campaign_text, read_campaign
from office.dashboard.services.campaign.applying import apply_campaign
from office.dashboard.services.campaign.changes import StepKind

api = ApiOperations("campaigns")
explain({"campaign-not-possible": "The file would change what cannot be changed; errors says where and why."})


class CampaignStepSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(StepKind.choices)
    path = serializers.CharField(help_text="Where in the file; items of lists are counted from 0.")
    text = serializers.CharField()


class CampaignChangeSerializer(serializers.Serializer[Any]):
    project = serializers.CharField(source="project.slug")
    is_applied = serializers.BooleanField()
    steps = CampaignStepSerializer(many=True)


@api.get(
    "campaign",
    "The settings, texts and invitations of a project, as TOML",
    {(200, CONTENT_TYPE): OpenApiTypes.STR},
    is_file=True,
)
def campaign_show(request: Request, slug: str) -> HttpResponse:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    # Guidelines and practice quote captions.
    check_no_assigned_images(person_asking(request), project)
    return HttpResponse(campaign_text(project, site=request.build_absolute_uri("/")), content_type=CONTENT_TYPE)


@api.put(
    "campaign_apply",
    "Bring a project to what a campaign file says, or make it",
    {200: CampaignChangeSerializer, 201: CampaignChangeSerializer},
    request={CONTENT_TYPE: OpenApiTypes.STR},
    description="The body is the file itself. Where there is no such project, whoever may start projects makes one.",
    parameters=[OpenApiParameter("plan", bool, description="1: say what would change, and store nothing.")],
)
def campaign_apply(request: Request, slug: str) -> Response:
    person = person_asking(request)
    is_new = manages_anything(person) and not Project.objects.filter(slug=slug).exists()
    project = None if is_new else project_for(person, slug, Role.MANAGER)
    is_plan = request.query_params.get("plan", "") not in ("", "0", "false")
    try:
        change = apply_campaign(
            read_campaign(request.body), project=project, slug=slug, by=person, now=timezone.now(), is_plan=is_plan
        )
    except CampaignFileError as error:
        raise ApiError(422, "invalid", _("The file cannot be applied."), {"campaign": error.problems}) from error
    if change.refused and not is_plan:
        errors = {step.path: [step.text] for step in change.refused}
        detail = _("Nothing was changed. Correct these lines in the file, or remove them.")
        raise ApiError(409, "campaign-not-possible", detail, errors)
    return Response(CampaignChangeSerializer(change).data, status=201 if change.is_new and change.is_applied else 200)


campaign_show_or_apply = one_address(campaign_show, campaign_apply)
