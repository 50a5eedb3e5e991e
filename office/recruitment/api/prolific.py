"""Studies at Prolific: plan, dry run and steps. No answer has the token."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain, refused_as
from core.people.api.views import person_asking
from core.people.models import Role
from core.people.permissions import project_for
from office.recruitment.api.studies import study_for
from office.recruitment.forms import PanelPlanForm, PlacesForm, ProlificTokenForm
from office.recruitment.models import BonusPayment, PanelStudy, PaymentState
from office.recruitment.rules.prolific import PanelStep, steps_in
from office.recruitment.selectors.panels import address_of, minutes_of
from office.recruitment.services.panel_studies import check_study, plan_study, set_token, take_step
from office.recruitment.services.prolific_api import PanelError

api = ApiOperations("recruitment")
explain({"panel-refused": "Prolific or the budget does not allow it, or Prolific did not answer; detail says why."})


class BonusPaymentSerializer(serializers.ModelSerializer[BonusPayment]):
    amount = serializers.FloatField(help_text="With fees.")
    state = serializers.ChoiceField(PaymentState.choices)

    class Meta:
        model = BonusPayment
        fields: tuple[str, ...] = ("id", "amount", "state", "sent_at")
        read_only_fields: tuple[str, ...] = fields


class PanelStudySerializer(serializers.ModelSerializer[PanelStudy]):
    budget = serializers.FloatField()
    rewards = serializers.FloatField(help_text="What its places cost, with fees, from when it is published.")
    bonuses = serializers.FloatField(help_text="What bonuses cost, with fees.")
    left = serializers.FloatField(help_text="Of the budget.")
    payments = BonusPaymentSerializer(many=True)
    steps = serializers.SerializerMethodField(help_text="What can be done next, besides adding places.")
    panel_id = serializers.CharField(help_text="What Prolific calls it; empty before there is a draft.")

    class Meta:
        model = PanelStudy
        fields: tuple[str, ...] = (
            *("description", "minutes", "budget", "rewards", "bonuses", "left"),
            *("panel_id", "status", "steps", "payments"),
        )
        read_only_fields: tuple[str, ...] = fields

    def get_steps(self, row: PanelStudy) -> list[str]:
        return [step.value for step in steps_in(row.status)]


class PanelCheckSerializer(serializers.Serializer[Any]):
    body = serializers.JSONField(help_text="What Prolific would be sent for the draft.")
    cost = serializers.FloatField(help_text="Of all places, with fees.")
    left = serializers.FloatField(help_text="Of the budget, for that.")
    fits = serializers.BooleanField(help_text="Whether it costs no more than that.")
    owed = serializers.FloatField(help_text="Bonuses so far, without fees.")


class PanelStepSerializer(PanelStudySerializer):
    detail = serializers.SerializerMethodField(help_text="What was done.")

    class Meta(PanelStudySerializer.Meta):
        fields = (*PanelStudySerializer.Meta.fields, "detail")
        read_only_fields: tuple[str, ...] = fields

    def get_detail(self, _row: PanelStudy) -> str:
        return str(self.context["said"])


TokenSerializer = form_shape("ProlificToken", ProlificTokenForm)
PanelPlanSerializer = form_shape("PanelPlan", PanelPlanForm, filled=None)
PlacesSerializer = form_shape("PanelPlaces", PlacesForm, filled=None)


@api.put("prolific_token_set", "Store the token for Prolific", {204: None}, request=TokenSerializer)
def prolific_token_set(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = sent_form(request, TokenSerializer, ProlificTokenForm)
    with refused_as("panel-refused", PanelError):
        set_token(project=project, token=form.cleaned_data["token"], by=person_asking(request), now=timezone.now())
    return Response(status=204)


@api.get("panel_study", "A study at Prolific, with its budget", PanelStudySerializer)
def panel_show(request: Request, slug: str, study_id: int) -> Response:
    row = get_object_or_404(PanelStudy, study=study_for(request, slug, study_id))
    return Response(PanelStudySerializer(row).data)


@api.patch(
    "panel_study_plan",
    "Describe a study for Prolific, and set its budget",
    PanelStudySerializer,
    request=PanelPlanSerializer,
    description="Once there is a draft, only the budget can be changed.",
)
def panel_plan(request: Request, slug: str, study_id: int) -> Response:
    study = study_for(request, slug, study_id)
    row = PanelStudy.objects.filter(study=study).first()
    make = partial(PanelPlanForm, row=row, minutes=minutes_of(study))
    form = sent_form(request, PanelPlanSerializer, make)
    with refused_as("panel-refused", PanelError):
        row = plan_study(study=study, by=person_asking(request), now=timezone.now(), **form.cleaned_data)
    return Response(PanelStudySerializer(row).data)


@api.get("panel_study_check", "What Prolific would be sent, and what it would cost", PanelCheckSerializer)
def panel_check(request: Request, slug: str, study_id: int) -> Response:
    row = get_object_or_404(PanelStudy, study=study_for(request, slug, study_id))
    with refused_as("panel-refused", PanelError):
        check = check_study(row.study, row, address_of(row.study, request.build_absolute_uri))
    return Response(PanelCheckSerializer(check).data)


@api.post(
    "panel_study_step",
    "Make, publish, pause, resume or stop a study at Prolific, add places, or pay",
    PanelStepSerializer,
    request=PlacesSerializer,
    parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=PanelStep.values)],
    description="Only “places” takes a body. Every step can be repeated: what is done is not done again.",
    has_key=False,
)
def panel_step(request: Request, slug: str, study_id: int, action: str) -> Response:
    study = study_for(request, slug, study_id)
    if action not in PanelStep.values:
        raise Http404(_("There is no such action."))
    places = None
    if action == PanelStep.PLACES:
        places = sent_form(request, PlacesSerializer, PlacesForm).cleaned_data["places"]
    with refused_as("panel-refused", PanelError):
        said = take_step(
            PanelStep(action),
            study=study,
            by=person_asking(request),
            now=timezone.now(),
            address=address_of(study, request.build_absolute_uri),
            places=places,
        )
    row = PanelStudy.objects.get(study=study)
    return Response(PanelStepSerializer(row, context={"said": said}).data)


panel_show_or_plan = one_address(panel_show, panel_plan)
