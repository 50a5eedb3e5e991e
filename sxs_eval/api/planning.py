"""Plans of comparisons: what scores propose, what it costs, what it can see; and making what is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import SystemRandom
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form, form_shape
from core.people.api.jobs import started
from core.people.api.operations import ApiOperations
from core.people.api.problems import refused_as
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import asking_now, person_asking
from core.people.models import Project
from core.people.permissions import READERS, project_for
from research.inference.selectors.assigned_work import warning_of_examples
from sxs_eval import tasks
from sxs_eval.api.comparisons import ComparisonSerializer
from sxs_eval.api.setting_up import SEED_BITS, comparisons_shown
from sxs_eval.formats.plans import missing_text, warnings_of
from sxs_eval.forms.planning import PlanForm
from sxs_eval.rules.planning import PairVerdict, ProposalReason, total_cost
from sxs_eval.selectors.planning import PlanRow, measured_pace, pay_of
from sxs_eval.selectors.platform_scores import plan_fields, scored_figures
from sxs_eval.services.comparisons import ComparisonError
from sxs_eval.services.planning import create_planned

api = ApiOperations("comparisons")
FIGURE = serializers.CharField(
    required=False, help_text="Take the platform's own scores by this figure, such as cider, in place of `scores`."
)
FIELDS: dict[str, Any] = {"omit": ("file",), "figure": FIGURE}
PlanSerializer = form_shape("Plan", PlanForm, filled=("seed",), **FIELDS)
PlanToStartSerializer = form_shape(
    "PlanToStart",
    PlanForm,
    **FIELDS,
    sessions=serializers.ListField(
        child=serializers.CharField(), min_length=1, help_text="Keys of pairs of the proposal."
    ),
)


class PlannedPairSerializer(serializers.Serializer[Any]):
    """Two models in a language. `key` names them to start a comparison; it is empty where `problem` says why not."""

    key = serializers.CharField(allow_blank=True)
    language = serializers.CharField(source="session.language")
    base_model = serializers.CharField(source="session.base")
    test_model = serializers.CharField(source="session.test")
    differences = serializers.ListField(
        source="session.differences",
        child=serializers.FloatField(allow_null=True),
        help_text="Test minus base, on each set of references.",
    )
    verdict = serializers.ChoiceField(list(PairVerdict), source="session.verdict")
    reasons = serializers.ListField(child=serializers.ChoiceField(list(ProposalReason)), source="session.reasons")
    is_suggested = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)
    comparison = serializers.IntegerField(
        source="existing.pk", default=None, allow_null=True, help_text="The ID of the one that is there already."
    )
    images = serializers.IntegerField(source="cost.images")
    judgements = serializers.IntegerField(source="cost.judgements")
    attention_items = serializers.IntegerField(source="cost.attention")
    hours = serializers.FloatField(source="cost.hours")


class PlanCostSerializer(serializers.Serializer[Any]):
    comparisons = serializers.IntegerField(source="cost.sessions")
    judgements = serializers.IntegerField(source="cost.judgements")
    attention_items = serializers.IntegerField(source="cost.attention")
    hours = serializers.FloatField(source="cost.hours")
    hours_within = serializers.FloatField(allow_null=True, help_text="How far the hours may be off; or null.")
    pay = serializers.DecimalField(
        source="pay.cost", max_digits=None, decimal_places=2, default=None, allow_null=True, help_text="Null: no rate."
    )
    currency = serializers.CharField(source="pay.currency", default="")


class PlanProposalSerializer(serializers.Serializer[Any]):
    sets = serializers.ListField(child=serializers.CharField(), help_text="The columns with the scores.")
    seed = serializers.IntegerField(help_text="Send it to start this plan: it draws the images.")
    pairs = PlannedPairSerializer(many=True)
    suggested = PlanCostSerializer(help_text="The cost of the suggested ones together.")
    seconds_per_judgement = serializers.FloatField()
    power = serializers.DictField(
        allow_null=True, help_text="What the largest can see, as in plan_evaluations --json; null below two images."
    )
    notes = serializers.ListField(child=serializers.CharField())
    missing = serializers.ListField(child=serializers.CharField(), help_text="Scores that are missing.")


class StartedPlanSerializer(serializers.Serializer[Any]):
    results = ComparisonSerializer(many=True)
    already = serializers.IntegerField(help_text="How many were there already.")


@api.post(
    "plan_propose",
    "Propose from automatic scores which models to compare, with the cost and the power",
    PlanProposalSerializer,
    request=PlanSerializer,
    description="Nothing is stored.",
    has_key=False,
)
def plan_propose(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    form = _plan_form(project, validated_data(PlanSerializer, request))
    rows = form.rows()
    cost, pace = total_cost(row.cost for row in rows if row.is_suggested), form.judging_pace()
    design = form.design_of(rows)
    warning = warning_of_examples(project, form.cleaned_data["collection"])
    body = {
        "sets": form.score_file.sets,
        "seed": form.cleaned_data["seed"],
        "pairs": rows,
        "suggested": {
            "cost": cost,
            "hours_within": pace.within_hours(cost.judgements + cost.attention),
            "pay": pay_of(project, cost),
        },
        "seconds_per_judgement": pace.seconds,
        "power": design and design.as_json(),
        "notes": [*warnings_of(form.plan, form.score_file), *([warning] if warning else [])],
        "missing": [missing_text(gap, form.score_file.sets) for gap in form.plan.missing],
    }
    return Response(PlanProposalSerializer(body).data)


@api.post(
    "plan_start",
    "Start the comparisons of a plan",
    {200: StartedPlanSerializer, 202: StartedPlanSerializer},
    request=PlanToStartSerializer,
    description="With the fields, the seed and keys of the proposal. Their pairs are made in the background.",
)
def plan_start(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    sent = validated_data(PlanToStartSerializer, request)
    keys = sent.pop("sessions")
    form = _plan_form(project, sent)
    with refused_as("comparison-refused", ComparisonError):
        made, already = create_planned(
            project=project,
            chosen=form.chosen_pairs(_chosen(form.rows(), keys)),
            collection=form.cleaned_data["collection"],
            setting=form.setting(),
            **asking_now(request),
        )
    tasks.nudge_filling([one.pk for one in made])
    body = {"results": comparisons_shown(made), "already": already}
    return started(body, "comparison", *(one.pk for one in made)) if made else Response(body)


def _plan_form(project: Project, sent: dict[str, Any]) -> PlanForm:
    """Fill in the form of the page."""
    first: dict[str, Any] = {"seed": SystemRandom().getrandbits(SEED_BITS)}
    if figure := sent.pop("figure", ""):
        known = [name for name, _title in scored_figures(project)]
        if figure not in known:
            raise serializers.ValidationError({"figure": [valid_values(known)]})
        first |= plan_fields(project, figure)
    return filled_form(partial(PlanForm, project=project, measured=measured_pace(project), initial=first), sent)


def _chosen(rows: Sequence[PlanRow], keys: Sequence[str]) -> list[PlanRow]:
    there = [row.key for row in rows if row.key]
    if set(keys) - set(there):
        raise serializers.ValidationError({"sessions": [valid_values(there)]})
    return [row for row in rows if row.key and row.key in keys]
