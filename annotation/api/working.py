"""An annotator's own work: rounds, batches from taking to submitting, and feedback.

A batch has its English captions on screen 1 and never after it, because the pages' selectors say what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Caption, CaptionBatch, CaptionState, Feedback, Rating, Round, Stage
from annotation.permissions import batch_for, readable_feedback, round_for
from annotation.rules.text_checks import MAX_DRAFT_CHARACTERS
from annotation.selectors import work
from annotation.selectors.caption_summaries import own_captions, summary_of
from annotation.services import batches, feedback
from core.allocation.api.steps import (
    MS_PER_DAY,
    BatchSteps,
    MissingRequirementSerializer,
    refusals_as_problems,
)
from core.allocation.models import BatchState
from core.conversation.api.messages import MessageShownSerializer, TextSerializer, sent_or_refused
from core.images.api.shapes import ServedImageSerializer, served_fields
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import User

api = ApiOperations("work")


class WarningSerializer(serializers.Serializer[Any]):
    """A soft check: the writer decides."""

    code = serializers.CharField()
    message = serializers.CharField()


class BatchHeadSerializer(serializers.Serializer[Any]):
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


class HeadSerializer(BatchHeadSerializer):
    stage = serializers.ChoiceField(Stage.choices)


class ItemSerializer(serializers.Serializer[Any]):
    """English caption and rating are null after screen 1; what is written on screen 2 is null on it."""

    position = serializers.IntegerField()
    image = ServedImageSerializer()
    english = serializers.CharField(allow_null=True)
    rating = serializers.ChoiceField(Rating.choices, allow_null=True)
    text = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    is_autosaved = serializers.BooleanField(
        allow_null=True, help_text="Whether the text must be confirmed before the batch can be submitted."
    )
    warnings = WarningSerializer(many=True)


class BatchSerializer(HeadSerializer):
    items = ItemSerializer(many=True, help_text="Empty if the batch was returned, or expired before screen 2.")


class OwnRoundSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(source="round.pk")
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    finished = serializers.IntegerField(help_text="Number of submitted batches.")
    missing_requirements = MissingRequirementSerializer(many=True)
    is_anything_left = serializers.BooleanField()


class RoundWorkSerializer(OwnRoundSerializer):
    open_batch = HeadSerializer(allow_null=True)
    resumable = HeadSerializer(many=True)


class WorkSerializer(serializers.Serializer[Any]):
    rounds = RoundWorkSerializer(many=True)


class RateSerializer(serializers.Serializer[Any]):
    rating = serializers.ChoiceField(Rating.choices)
    active_ms = serializers.IntegerField(
        min_value=0, max_value=MS_PER_DAY, default=0, help_text="Active time since the last save."
    )


class RatedSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    rating = serializers.ChoiceField(Rating.choices)


class DraftSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(trim_whitespace=False, allow_blank=True, max_length=MAX_DRAFT_CHARACTERS)
    revision = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="Revision of the text that this one is based on; 0 for the first."
    )
    active_ms = serializers.IntegerField(min_value=0, max_value=MS_PER_DAY, default=0)
    pasted_characters = serializers.IntegerField(
        min_value=0,
        max_value=MAX_DRAFT_CHARACTERS,
        default=0,
        help_text="Pasted from elsewhere so far. Forgotten unless the consent text says that it is noted.",
    )
    longest_absence_ms = serializers.IntegerField(
        min_value=0, max_value=MS_PER_DAY, default=0, help_text="Longest time out of sight so far. Forgotten as well."
    )
    confirms = serializers.BooleanField(
        default=True, help_text="False for a text that you save while somebody types it: it cannot be submitted yet."
    )


class SubmitSerializer(serializers.Serializer[Any]):
    copies_seen = serializers.BooleanField(
        default=False, help_text="Submit the captions as they are, despite the answer `near-copy`."
    )


class DraftedSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    revision = serializers.IntegerField()
    written = serializers.IntegerField(help_text="Images in the batch that have a confirmed caption.")
    warnings = WarningSerializer(many=True)


@api.get("work", "Your rounds with captions to write", WorkSerializer)
def work_show(request: Request) -> Response:
    return Response(WorkSerializer({"rounds": work.work_of(person_asking(request), timezone.now())}).data)


@api.put(
    "rating_save",
    "Rate an English caption",
    RatedSerializer,
    description="You can change the rating until you open writing.",
    request=RateSerializer,
)
def rating_save(request: Request, batch_id: UUID, position: int) -> Response:
    batch_for(person_asking(request), batch_id)
    return store_rating(
        request, batches.save_rating, batch_id=batch_id, person=person_asking(request), position=position
    )


@api.put(
    "draft_save",
    "Save the text for an image",
    DraftedSerializer,
    description="Saving the same text again changes nothing.",
    request=DraftSerializer,
)
def draft_save(request: Request, batch_id: UUID, position: int) -> Response:
    batch_for(person_asking(request), batch_id)
    sent = validated_data(DraftSerializer, request)
    with refusals_as_problems():
        item = batches.save_draft(
            batch_id=batch_id, person=person_asking(request), position=position, now=timezone.now(), **sent
        )
    texts = work.texts_of(item.batch)
    warnings = work.warnings_of(item, work.language_of(item.batch.round_id), texts)
    kept = {"position": position, "revision": item.revision, "written": work.written_in(texts)}
    return Response(DraftedSerializer({**kept, "warnings": warnings}).data)


class OwnCaptionSerializer(serializers.ModelSerializer[Caption]):
    project = serializers.CharField(source="round.project.slug")
    language = serializers.CharField(source="round.language_id")
    batch = serializers.UUIDField(source="item.batch_id")
    position = serializers.IntegerField(source="item.position")
    state = serializers.ChoiceField(CaptionState.choices)
    is_rated = serializers.BooleanField(help_text="By others, in a verification.")
    is_returned = serializers.BooleanField(help_text="For correction, now or before.")
    is_released = serializers.BooleanField()

    class Meta:
        model = Caption
        fields = (
            *("id", "project", "language", "round", "batch", "position", "text", "state", "submitted_at"),
            *("is_rated", "is_returned", "is_released"),
        )


@api.list("own_captions", "Your submissions", "OwnCaptionPage", OwnCaptionSerializer)
def own_caption_list(request: Request) -> Response:
    mine = own_captions(person_asking(request))
    rounds = Round.objects.filter(pk__in=mine.values("round")).order_by("pk")
    parts = (ListPart(round.pk, mine.filter(round=round).select_related("round__project", "item")) for round in rounds)
    return page(request, parts, order=["pk"], show=many_shown(OwnCaptionSerializer))


class OwnCaptionSummarySerializer(serializers.Serializer[Any]):
    submitted = serializers.IntegerField()
    rated = serializers.IntegerField(help_text="By others, in a verification.")
    returned = serializers.IntegerField(help_text="For correction.")
    released = serializers.IntegerField()


@api.get("own_caption_summary", "What happened to your captions, in numbers", OwnCaptionSummarySerializer)
def own_caption_summary(request: Request) -> Response:
    return Response(OwnCaptionSummarySerializer(summary_of(person_asking(request))).data)


class OwnFeedbackSerializer(serializers.ModelSerializer[Feedback]):
    project = serializers.CharField(source="project.slug")

    class Meta:
        model = Feedback
        fields = ("id", "project", "round", "caption", "text", "at", "acknowledged_at")


@api.list("own_feedback", "Your feedback", "OwnFeedbackPage", OwnFeedbackSerializer)
def own_feedback_list(request: Request) -> Response:
    mine = readable_feedback(person_asking(request)).select_related("project")
    return page(request, [ListPart(0, mine)], order=["pk"], show=many_shown(OwnFeedbackSerializer))


@api.post(
    "feedback_acknowledge",
    "Confirm that you have read feedback",
    OwnFeedbackSerializer,
    description="Required before you take another batch of the project. If you repeat it, the first time is kept.",
)
def feedback_acknowledge(request: Request, feedback_id: int) -> Response:
    with refusals_as_problems():
        acknowledged = feedback.acknowledge(feedback_id=feedback_id, person=person_asking(request), now=timezone.now())
    return Response(OwnFeedbackSerializer(acknowledged).data)


@api.post("feedback_reply", "Reply to feedback", MessageShownSerializer, request=TextSerializer)
def feedback_reply(request: Request, feedback_id: int) -> Response:
    note = get_object_or_404(readable_feedback(person_asking(request)), pk=feedback_id)
    text = validated_data(TextSerializer, request)["text"]
    return sent_or_refused(lambda: feedback.reply_to_feedback(feedback=note, text=text, now=timezone.now()))


def store_rating(request: Request, save: Callable[..., object], *, position: int, **whose: Any) -> Response:
    """Store the rating that was sent by `save`, a service."""
    sent = validated_data(RateSerializer, request)
    rating, active_ms = Rating(sent["rating"]), sent["active_ms"]
    with refusals_as_problems():
        save(position=position, rating=rating, active_ms=active_ms, now=timezone.now(), **whose)
    return Response({"position": position, "rating": sent["rating"]})


def batch_response(request: Request, batch_id: UUID) -> Response:
    """Answer with a batch as it is now."""
    user, now = person_asking(request), timezone.now()
    batch = batch_for(user, batch_id)
    head = work.batch_head(batch, size=0, now=now)
    is_away = head.state == BatchState.RETURNED or (batch.stage == Stage.RATE and not head.is_open)
    about: dict[str, Any] = dict(HeadSerializer(head).data)
    return Response(about | {"items": [] if is_away else ItemSerializer(_items(batch, user), many=True).data})


def _items(batch: CaptionBatch, user: User) -> Sequence[dict[str, Any]]:
    """Return items by stage, as on its page. Nothing of screen 1 is read after it."""
    if batch.stage == Stage.RATE:
        return [
            _item(item.position, item.image, english=item.text, rating=item.rating or None)
            for item in work.rate_page(batch, user, timezone.now())["items"]
        ]
    written = work.submitted if batch.stage == Stage.SUBMITTED else work.own_captions
    return [
        _item(
            item.position,
            item.image,
            text=item.text,
            revision=item.revision,
            is_autosaved=item.is_autosaved,
            warnings=item.warnings,
        )
        for item in written(batch, user)
    ]


def _item(position: int, image: Any, **more: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("english", "rating", "text", "revision", "is_autosaved")) | {"warnings": ()}
    return {"position": position, "image": served_fields(image)} | nothing | more


STEPS = BatchSteps(api, BatchSerializer, batch_for, batch_response)
batch_take = STEPS.take(
    "batch_take",
    "Take a batch",
    batches.take_batch,
    of="round",
    find=round_for,
    nothing_left=_("There is nothing left for you in this round: other people have taken every image."),
)
batch_show = STEPS.show("batch", "One of your batches")
writing_open = STEPS.step(
    "writing_open",
    "Open writing",
    "You cannot go back: from then on, no English caption of the batch is sent. Repeating the request has no further "
    "effect.",
    batches.open_writing,
    # As on the page: screen 1 must be gone from a browser's cache, too.
    headers={"Clear-Site-Data": '"cache"'},
)
batch_submit = STEPS.step(
    "batch_submit",
    "Submit a batch",
    "Repeating the request has no further effect and gets the same answer. Captions that are almost the same as the "
    "English ones are refused the first time, and accepted with `copies_seen`.",
    batches.submit_batch,
    shape=SubmitSerializer,
)
batch_return = STEPS.step("batch_return", "Return a batch", "Your ratings and drafts are kept.", batches.return_batch)
batch_resume = STEPS.step(
    "batch_resume", "Resume a batch", "You get the images that are still free.", batches.resume_batch
)
