"""A rater's own work: comparisons, and batches of pairs, one pair after the other.

Which model wrote a caption, and what others answered, is never sent.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.allocation.api.steps import (
    MS_PER_DAY,
    BatchSteps,
    MissingRequirementSerializer,
    refusals_as_problems,
)
from core.allocation.models import BatchState
from core.images.api.shapes import ServedImageSerializer, served_fields
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.selectors.qualification import NotQualifiedError
from sxs_eval.permissions import batch_for, comparison_to_judge, missing_requirements
from sxs_eval.selectors.work import judging_page, work_of
from sxs_eval.services import judging as services

api = ApiOperations("work: comparing captions")
explain(
    {
        "stale-trial": "The pair was answered before, or is not the next one; read the batch again.",
        "not-on-scale": "The choice is none of the scale; detail lists them.",
        "comment-too-long": "The comment is too long; detail says how long it may be.",
    }
)


class JudgingHeadSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    comparison = serializers.IntegerField(source="comparison_id")
    state = serializers.ChoiceField(BatchState.choices)
    is_open = serializers.BooleanField(help_text="Whether an answer counts now.")
    is_late = serializers.BooleanField()
    deadline = serializers.DateTimeField(help_text="When the lease ends. An answer renews it.")
    size = serializers.IntegerField(help_text="How many pairs it has.")
    answered = serializers.IntegerField()
    instructions_version = serializers.IntegerField()


class PairToJudgeSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    image = ServedImageSerializer()
    left = serializers.CharField()
    right = serializers.CharField()
    comment = serializers.CharField(allow_blank=True)


class ScaleLevelSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="The choice to send: above 0 where left is better.")
    label = serializers.CharField()  # type: ignore[assignment]


class JudgingBatchSerializer(JudgingHeadSerializer):
    scale = ScaleLevelSerializer(many=True)
    pair = PairToJudgeSerializer(allow_null=True, help_text="The next one; null if none is left to be judged now.")
    undoable = serializers.IntegerField(allow_null=True, help_text="The position of the answer that can be undone.")


class ComparisonWorkSerializer(serializers.Serializer[Any]):
    comparison = serializers.IntegerField(source="comparison.pk")
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    judged = serializers.IntegerField(help_text="Your answers.")
    missing_requirements = MissingRequirementSerializer(many=True)
    is_anything_left = serializers.BooleanField()
    open_batch = JudgingHeadSerializer(allow_null=True)
    resumable = JudgingHeadSerializer(many=True)


class ComparingWorkSerializer(serializers.Serializer[Any]):
    comparisons = ComparisonWorkSerializer(many=True)


class ChoiceSerializer(serializers.Serializer[Any]):
    choice = serializers.IntegerField(min_value=-99, max_value=99, help_text="A number of the scale.")
    comment = serializers.CharField(allow_blank=True, default="")
    active_ms = serializers.IntegerField(
        min_value=0, max_value=MS_PER_DAY, default=0, help_text="Active time since the last answer."
    )


@api.get("comparing_work", "Your comparisons with pairs to judge", ComparingWorkSerializer)
def comparing_work_show(request: Request) -> Response:
    comparisons = work_of(person_asking(request), timezone.now())
    return Response(ComparingWorkSerializer({"comparisons": comparisons}).data)


@api.put(
    "judgement_save",
    "Judge a pair",
    JudgingBatchSerializer,
    description="The pairs of a batch are judged in their order. The answer has the next one.",
    request=ChoiceSerializer,
)
def judgement_save(request: Request, batch_id: UUID, position: int) -> Response:
    batch_for(person_asking(request), batch_id)
    sent = validated_data(ChoiceSerializer, request)
    with refusals_as_problems():
        services.judge(batch_id=batch_id, person=person_asking(request), position=position, now=timezone.now(), **sent)
    return batch_response(request, batch_id)


@api.delete("judgement_undo", "Undo the last answer of an open batch")
def judgement_undo(request: Request, batch_id: UUID, position: int) -> Response:
    batch_for(person_asking(request), batch_id)
    with refusals_as_problems():
        services.undo(batch_id=batch_id, person=person_asking(request), position=position, now=timezone.now())
    return Response(status=204)


def batch_response(request: Request, batch_id: UUID) -> Response:
    """Answer with a batch as it is now."""
    user = person_asking(request)
    batch = batch_for(user, batch_id)
    with refusals_as_problems():
        if missing := missing_requirements(user, batch.comparison):
            raise NotQualifiedError(missing)
    page = judging_page(batch, user, timezone.now())
    pair = {**vars(page.trial), "image": served_fields(page.trial.image)} if page.trial else None
    about: dict[str, Any] = dict(JudgingHeadSerializer(page.batch).data)
    return Response(
        about
        | {
            "scale": ScaleLevelSerializer(page.scale.levels, many=True).data,
            "pair": pair and PairToJudgeSerializer(pair).data,
            "undoable": page.undoable,
        }
    )


STEPS = BatchSteps(api, JudgingBatchSerializer, batch_for, batch_response)
judging_batch_take = STEPS.take(
    "judging_batch_take",
    "Take pairs to judge",
    services.take_batch,
    of="comparison",
    find=comparison_to_judge,
    nothing_left=_("You have no pairs left to judge in this comparison. Thank you!"),
)
judging_batch_show = STEPS.show("judging_batch", "A batch of pairs, with the next one")
judging_batch_return = STEPS.step(
    "judging_batch_return", "Return a batch of pairs", "Your answers count.", services.return_batch
)
judging_batch_resume = STEPS.step(
    "judging_batch_resume", "Resume a batch of pairs", "You get the pairs that are still free.", services.resume_batch
)
judgement_save_or_undo = one_address(judgement_save, judgement_undo)
