"""A rater's own work: rounds with captions to rate, and a batch from taking it to submitting it.

The captions of a submitted batch are not shown any more, because the rater may get the same images in a later round.
"""

from __future__ import annotations

from collections.abc import Callable
from random import SystemRandom
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from allocation.models import BatchState
from annotation import tasks
from annotation.api.refusals import nothing_left, refusals
from annotation.api.working import MissingRequirementSerializer, RatedSerializer, RateSerializer, rated
from annotation.models import Rating
from annotation.permissions import ratings_for, round_to_rate
from annotation.selectors import verification
from annotation.services import verification as services
from images.api import ServedImageSerializer, served_fields
from people.api.operations import Operations, View
from people.api.views import asker

api = Operations("work: rating captions")


class RatingHeadSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    round = serializers.IntegerField(source="round.pk")
    state = serializers.ChoiceField(BatchState.choices)
    is_open = serializers.BooleanField(help_text="Whether a submission counts now.")
    is_late = serializers.BooleanField()
    deadline = serializers.DateTimeField(help_text="When the lease ends. Saving work renews it.")
    submitted_at = serializers.DateTimeField(allow_null=True)
    guidelines_version = serializers.IntegerField()


class CaptionToRateSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    image = ServedImageSerializer()
    text = serializers.CharField(help_text="The caption.")
    rating = serializers.ChoiceField(Rating.choices, allow_null=True)


class RatingBatchSerializer(RatingHeadSerializer):
    captions = CaptionToRateSerializer(many=True, help_text="Empty unless the batch is assigned to you.")


class RatingRoundSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(source="round.pk")
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    open_batch = RatingHeadSerializer(allow_null=True)
    resumable = RatingHeadSerializer(many=True)
    finished = serializers.IntegerField(help_text="Number of submitted batches.")
    missing_requirements = MissingRequirementSerializer(many=True)
    is_anything_left = serializers.BooleanField()


class RatingWorkSerializer(serializers.Serializer[Any]):
    rounds = RatingRoundSerializer(many=True)


@api.get("rating_work", "Your rounds with captions to rate", RatingWorkSerializer)
def rating_work_show(request: Request) -> Response:
    rounds = verification.rating_work_of(asker(request), timezone.now())
    return Response(RatingWorkSerializer({"rounds": rounds}).data)


@api.post(
    "rating_batch_take",
    "Take captions to rate",
    RatingBatchSerializer,
    description="Returns your open batch if you have one.",
)
def rating_batch_take(request: Request, round_id: int) -> Response:
    round = round_to_rate(asker(request), round_id)
    with refusals():
        batch = services.take_batch(round=round, person=asker(request), now=timezone.now(), rng=SystemRandom())
    if batch is None:
        raise nothing_left(_("There is nothing left for you in this round: all other captions have enough raters."))
    return answer(request, batch.pk)


@api.get("rating_batch", "A batch of captions to rate", RatingBatchSerializer)
def rating_batch_show(request: Request, batch_id: UUID) -> Response:
    return answer(request, batch_id)


@api.put(
    "verdict_save",
    "Rate a caption",
    RatedSerializer,
    description="You can change the rating until you submit the batch.",
    request=RateSerializer,
)
def verdict_save(request: Request, batch_id: UUID, position: int) -> Response:
    ratings_for(asker(request), batch_id)
    return rated(request, services.save_verdict, batch_id=batch_id, person=asker(request), position=position)


def _submit_batch(**about: Any) -> None:
    batch = services.submit_batch(**about)
    tasks.nudge_figures(batch.round_id)


def _step(id: str, summary: str, description: str, service: Callable[..., object]) -> View:
    """Make the view of a step that a batch takes as a whole."""

    @api.post(id, summary, RatingBatchSerializer, description=description)
    def view(request: Request, batch_id: UUID) -> Response:
        ratings_for(asker(request), batch_id)
        with refusals():
            service(batch_id=batch_id, person=asker(request), now=timezone.now())
        return answer(request, batch_id)

    return view


rating_batch_submit = _step(
    "rating_batch_submit",
    "Submit a batch of ratings",
    "Repeating the request has no further effect and gets the same answer.",
    _submit_batch,
)
rating_batch_return = _step(
    "rating_batch_return", "Return a batch of captions to rate", "Your ratings are kept.", services.return_batch
)
rating_batch_resume = _step(
    "rating_batch_resume",
    "Resume a batch of captions to rate",
    "You get the captions that are still free.",
    services.resume_batch,
)


def answer(request: Request, batch_id: UUID) -> Response:
    """Answer with a batch as it is now."""
    user, now = asker(request), timezone.now()
    batch = ratings_for(user, batch_id)
    head = verification.ratings_head(batch, size=0, now=now)
    is_shown = head.is_open and batch.submitted_at is None
    captions = [
        {
            "position": item.position,
            "image": served_fields(item.image),
            "text": item.text,
            "rating": item.rating or None,
        }
        for item in (verification.ratings_page(batch, user, now).items if is_shown else ())
    ]
    about: dict[str, Any] = dict(RatingHeadSerializer(head).data)
    return Response(about | {"captions": CaptionToRateSerializer(captions, many=True).data})
