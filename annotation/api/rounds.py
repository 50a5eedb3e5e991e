"""Steps of rounds, by the service of the pages: open, close, reopen, accept, reject and skip."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import tasks
from annotation.api.shapes import RoundSerializer
from annotation.forms.campaign import StepForm
from annotation.models import Round
from annotation.permissions import round_of
from annotation.rules.campaign import RoundAction, UnfinishedBatches
from annotation.services.campaign import StepNotAllowedError, take_step
from core.people.api.jobs import started
from core.people.api.operations import ApiOperations
from core.people.api.problems import explain, refused_as
from core.people.api.requested import check_form, validated_data
from core.people.api.views import person_asking
from core.people.models import Role

api = ApiOperations("projects")
explain({"step-refused": "The round cannot take this step now; detail says why."})


class RoundStepSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(allow_blank=True, default="", help_text="Some steps need one.")
    needs_qualification = serializers.BooleanField(
        default=None, allow_null=True, help_text="To open: whether people must have qualified; null leaves it as it is."
    )
    assigned = serializers.ChoiceField(
        UnfinishedBatches.choices, required=False, help_text="To close: what happens to unfinished batches."
    )


@api.post(
    "round_step",
    "Open, close, reopen, accept, reject or skip a round",
    {200: RoundSerializer, 202: RoundSerializer},
    description="Opening prepares its images in the background, and answers 202.",
    request=RoundStepSerializer,
    parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=RoundAction.values)],
)
def round_step(request: Request, slug: str, round_id: int, action: str) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    if action not in RoundAction.values:
        raise Http404(_("There is no such action."))
    sent = validated_data(RoundStepSerializer, request)
    form = StepForm(sent, action=RoundAction(action))
    check_form(form)
    answers = form.answers() | {"needs_qualification": sent["needs_qualification"]}
    with refused_as("step-refused", StepNotAllowedError):
        done = take_step(
            round=round, action=RoundAction(action), by=person_asking(request), now=timezone.now(), **answers
        )
    shown = Round.objects.select_related("pool", "verifies", "guidelines")
    body = RoundSerializer(shown.get(pk=done.pk)).data
    if not done.awaits_tasks:
        return Response(body)
    tasks.nudge_filling([done.pk])
    return started(body, "round", done.pk)
