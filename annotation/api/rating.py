"""A reviewer's own work on captions that others wrote: rounds, and batches from taking to submitting.

After a batch is submitted, no caption of it is shown: its images may be assigned for writing in a later round.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import tasks
from annotation.api.working import (
    BatchHeadSerializer,
    OwnRoundSerializer,
    RatedSerializer,
    RateSerializer,
    store_rating,
)
from annotation.models import Rating
from annotation.permissions import ratings_for, round_to_rate
from annotation.selectors import verification
from annotation.selectors.work import batch_head
from annotation.services import verification as services
from core.allocation.api.steps import BatchSteps
from core.images.api.shapes import ServedImageSerializer, served_fields
from core.people.api.operations import ApiOperations
from core.people.api.views import person_asking

api = ApiOperations("work: rating captions")


class RatingHeadSerializer(BatchHeadSerializer):
    pass


class CaptionToRateSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    image = ServedImageSerializer()
    text = serializers.CharField(help_text="The caption.")
    rating = serializers.ChoiceField(Rating.choices, allow_null=True)


class RatingBatchSerializer(RatingHeadSerializer):
    captions = CaptionToRateSerializer(many=True, help_text="Empty unless the batch is assigned to you.")


class RatingRoundSerializer(OwnRoundSerializer):
    open_batch = RatingHeadSerializer(allow_null=True)
    resumable = RatingHeadSerializer(many=True)


class RatingWorkSerializer(serializers.Serializer[Any]):
    rounds = RatingRoundSerializer(many=True)


@api.get("rating_work", "Your rounds with captions to rate", RatingWorkSerializer)
def rating_work_show(request: Request) -> Response:
    rounds = verification.rating_work_of(person_asking(request), timezone.now())
    return Response(RatingWorkSerializer({"rounds": rounds}).data)


@api.put(
    "verdict_save",
    "Rate a caption",
    RatedSerializer,
    description="You can change the rating until you submit the batch.",
    request=RateSerializer,
)
def verdict_save(request: Request, batch_id: UUID, position: int) -> Response:
    ratings_for(person_asking(request), batch_id)
    return store_rating(
        request, services.save_verdict, batch_id=batch_id, person=person_asking(request), position=position
    )


def _submit_batch(**about: Any) -> None:
    batch = services.submit_batch(**about)
    tasks.nudge_figures(batch.round_id)


def batch_response(request: Request, batch_id: UUID) -> Response:
    """Answer with a batch as it is now."""
    user, now = person_asking(request), timezone.now()
    batch = ratings_for(user, batch_id)
    head = batch_head(batch, size=0, now=now)
    is_shown = head.is_open and batch.submitted_at is None
    captions = [
        {
            "position": item.position,
            "image": served_fields(item.image),
            "text": item.text,
            "rating": item.rating or None,
        }
        for item in (verification.ratings_page(batch, user, now)["items"] if is_shown else ())
    ]
    about: dict[str, Any] = dict(RatingHeadSerializer(head).data)
    return Response(about | {"captions": CaptionToRateSerializer(captions, many=True).data})


STEPS = BatchSteps(api, RatingBatchSerializer, ratings_for, batch_response)
rating_batch_take = STEPS.take(
    "rating_batch_take",
    "Take captions to rate",
    services.take_batch,
    of="round",
    find=round_to_rate,
    nothing_left=_("There is nothing left for you in this round: all other captions have enough reviewers."),
)
rating_batch_show = STEPS.show("rating_batch", "A batch of captions to rate")
rating_batch_submit = STEPS.step(
    "rating_batch_submit",
    "Submit a batch of ratings",
    "Repeating the request has no further effect and gets the same answer.",
    _submit_batch,
)
rating_batch_return = STEPS.step(
    "rating_batch_return", "Return a batch of captions to rate", "Your ratings are kept.", services.return_batch
)
rating_batch_resume = STEPS.step(
    "rating_batch_resume",
    "Resume a batch of captions to rate",
    "You get the captions that are still free.",
    services.resume_batch,
)
