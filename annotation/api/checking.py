"""What managers say about captions: findings, feedback to authors, captions returned, and batches taken back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.refusals import check_no_assigned_images
from annotation.api.shapes import CaptionSerializer, FeedbackSerializer, context_of
from annotation.models import Caption, Rating, Round
from annotation.permissions import batch_managed_by, caption_managed_by
from annotation.services import corrections, feedback, reassignment
from core.allocation.services.errors import BatchClosedError
from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import person_asking

api = ApiOperations("projects")
explain(
    {
        "feedback-refused": "The text cannot be sent so; detail says why.",
        "batch-closed": "The batch is no longer assigned to anybody.",
    }
)


class FindingSerializer(serializers.Serializer[Any]):
    """What is not sent stays as it was; null deletes it."""

    is_rating_right = serializers.BooleanField(
        allow_null=True, required=False, help_text="Whether the author rated the English caption correctly."
    )
    level = serializers.ChoiceField(
        Rating.choices, allow_null=True, required=False, help_text="Your rating of the caption."
    )


class NoteSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=feedback.MAX_NOTE_CHARACTERS, help_text="The author reads it.")


class FreedPlacesSerializer(serializers.Serializer[Any]):
    places = serializers.IntegerField(help_text="How many are free again.")


@api.patch(
    "caption_check", "Record a finding about a caption and its rating", FindingSerializer, request=FindingSerializer
)
def caption_check(request: Request, slug: str, caption_id: int) -> Response:
    caption = _caption(request, slug, caption_id)
    sent = validated_data(FindingSerializer, request)
    who: dict[str, Any] = {"caption_id": caption.pk, "by": person_asking(request), "now": timezone.now()}
    if "is_rating_right" in sent:
        feedback.check_rating(is_right=sent["is_rating_right"], **who)
    if "level" in sent:
        feedback.check_level(level=sent["level"] and Rating(sent["level"]), **who)
    return Response(sent)


@api.post(
    "caption_feedback", "Send its author feedback on a caption", {201: FeedbackSerializer}, request=NoteSerializer
)
def caption_feedback(request: Request, slug: str, caption_id: int) -> Response:
    caption = _caption(request, slug, caption_id)
    assert caption.author is not None  # guaranteed, as it did not come from a file
    text = validated_data(NoteSerializer, request)["text"]
    return feedback_response(request, round=caption.round, person=caption.author, caption=caption, text=text)


def feedback_response(request: Request, *, round: Round, **about: Any) -> Response:
    """Send feedback, and answer with it."""
    with refused_as("feedback-refused", feedback.FeedbackError):
        made = feedback.give_feedback(round=round, by=person_asking(request), now=timezone.now(), **about)
    return Response(FeedbackSerializer(made, context=context_of(round.project, [made])).data, status=201)


@api.post("caption_return", "Return a caption to its author for correction", CaptionSerializer, request=NoteSerializer)
def caption_return(request: Request, slug: str, caption_id: int) -> Response:
    caption = _caption(request, slug, caption_id)
    note = validated_data(NoteSerializer, request)["text"]
    with refused_as("feedback-refused", feedback.FeedbackError, corrections.CorrectionRequestError):
        corrections.return_for_correction(
            caption_id=caption.pk, note=note, by=person_asking(request), now=timezone.now()
        )
    returned = caption_managed_by(person_asking(request), slug, caption_id)
    return Response(CaptionSerializer(returned, context=context_of(returned.round.project, [returned])).data)


@api.post(
    "batch_take_back",
    "Return somebody's unfinished batch",
    FreedPlacesSerializer,
    description="Of any work of a round. Drafts are kept.",
)
def batch_take_back(request: Request, slug: str, batch_id: UUID) -> Response:
    batch = batch_managed_by(person_asking(request), slug, batch_id)
    try:
        freed = reassignment.return_batch(batch=batch, by=person_asking(request), now=timezone.now())
    except BatchClosedError:
        raise ApiError(409, "batch-closed", _("This batch is no longer assigned to anybody.")) from None
    return Response({"places": freed})


def _caption(request: Request, slug: str, caption_id: int) -> Caption:
    caption = caption_managed_by(person_asking(request), slug, caption_id)
    check_no_assigned_images(person_asking(request), caption.round.project)
    return caption
