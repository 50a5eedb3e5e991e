"""An annotator's own work: what waits, a batch from taking it to handing it in, and what managers said about it.

On screen 1 a batch has its English captions, afterwards never again: what is shown comes from the pages' selectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import SystemRandom
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from allocation.models import BatchState
from annotation.api.refusals import nothing_left, refusals
from annotation.models import Caption, CaptionBatch, CaptionState, Feedback, Rating, Round, RoundKind, Stage
from annotation.permissions import batch_for, readable_feedback, round_for
from annotation.rules.text_checks import LONGEST_DRAFT
from annotation.selectors import work
from annotation.services import batches, feedback
from images.api import ServedImageSerializer, served_fields
from people.api.pagination import PARAMETERS, Part, page, paged
from people.api.views import asker
from people.models import User

MS_PER_DAY = 24 * 3600 * 1000
TAGS = ["work"]


class MissingRequirementSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class WarningSerializer(serializers.Serializer[Any]):
    """A soft check: the writer decides."""

    code = serializers.CharField()
    message = serializers.CharField()


class HeadSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    round = serializers.IntegerField(source="round_id")
    stage = serializers.ChoiceField(Stage.choices)
    state = serializers.ChoiceField(BatchState.choices)
    is_open = serializers.BooleanField(help_text="Whether a submission counts now.")
    is_late = serializers.BooleanField()
    deadline = serializers.DateTimeField(help_text="When the lease ends. Saving work renews it.")
    submitted_at = serializers.DateTimeField(allow_null=True)
    guidelines_version = serializers.IntegerField()


class ItemSerializer(serializers.Serializer[Any]):
    """What is not part of the batch's stage is null: English caption and rating while rating, texts afterwards."""

    position = serializers.IntegerField()
    image = ServedImageSerializer()
    english = serializers.CharField(allow_null=True)
    rating = serializers.ChoiceField(Rating.choices, allow_null=True)
    text = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    warnings = WarningSerializer(many=True)


class BatchSerializer(HeadSerializer):
    items = ItemSerializer(many=True, help_text="Empty if the batch was returned, or expired before screen 2.")


class RoundWorkSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(source="round.pk")
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    open_batch = HeadSerializer(allow_null=True)
    resumable = HeadSerializer(many=True)
    finished = serializers.IntegerField(help_text="Number of submitted batches.")
    missing_requirements = MissingRequirementSerializer(many=True)
    is_anything_left = serializers.BooleanField()


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
    text = serializers.CharField(trim_whitespace=False, allow_blank=True, max_length=LONGEST_DRAFT)
    revision = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="Revision of the text that this one is based on; 0 for the first."
    )
    active_ms = serializers.IntegerField(min_value=0, max_value=MS_PER_DAY, default=0)


class SubmitSerializer(serializers.Serializer[Any]):
    copies_seen = serializers.BooleanField(
        default=False, help_text="Submit the captions as they are, despite the answer `near-copy`."
    )


class DraftedSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    revision = serializers.IntegerField()
    written = serializers.IntegerField(help_text="Images in the batch that have a text.")
    warnings = WarningSerializer(many=True)


class WorkView(APIView):
    @extend_schema(
        operation_id="work", summary="Your rounds with captions to write", tags=TAGS, responses=WorkSerializer
    )
    def get(self, request: Request) -> Response:
        rounds = [row for row in work.work_of(asker(request), timezone.now()) if is_written_in(row.round)]
        return Response(WorkSerializer({"rounds": rounds}).data)


class BatchTake(APIView):
    @extend_schema(
        operation_id="batch_take",
        summary="Take a batch",
        description="Returns your open batch if you have one.",
        tags=TAGS,
        request=None,
        responses=BatchSerializer,
    )
    def post(self, request: Request, round_id: int) -> Response:
        round = round_for(asker(request), round_id)
        if not is_written_in(round):
            raise Http404(_("You have no such round."))
        with refusals():
            batch = batches.take_batch(round=round, annotator=asker(request), now=timezone.now(), rng=SystemRandom())
        if batch is None:
            raise nothing_left(_("There is nothing left for you in this round: other people have taken every image."))
        return answer(request, batch.pk)


class BatchDetail(APIView):
    @extend_schema(operation_id="batch", summary="One of your batches", tags=TAGS, responses=BatchSerializer)
    def get(self, request: Request, batch_id: UUID) -> Response:
        return answer(request, batch_id)


class RatingSave(APIView):
    @extend_schema(
        operation_id="rating_save",
        summary="Rate an English caption",
        description="You can change the rating until you open writing.",
        tags=TAGS,
        request=RateSerializer,
        responses=RatedSerializer,
    )
    def put(self, request: Request, batch_id: UUID, position: int) -> Response:
        batch_for(asker(request), batch_id)
        sent = given(RateSerializer, request)
        with refusals():
            batches.save_rating(
                batch_id=batch_id,
                annotator=asker(request),
                position=position,
                rating=Rating(sent["rating"]),
                active_ms=sent["active_ms"],
                now=timezone.now(),
            )
        return Response({"position": position, "rating": sent["rating"]})


class WritingOpen(APIView):
    @extend_schema(
        operation_id="writing_open",
        summary="Open writing",
        description="You cannot go back: from then on, no English caption of the batch is sent. Repeating the request "
        "has no further effect.",
        tags=TAGS,
        request=None,
        responses=BatchSerializer,
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch_for(asker(request), batch_id)
        with refusals():
            batches.open_writing(batch_id=batch_id, annotator=asker(request), now=timezone.now())
        response = answer(request, batch_id)
        # As on the page: screen 1 must be gone from a browser's cache, too.
        response["Clear-Site-Data"] = '"cache"'
        return response


class DraftSave(APIView):
    @extend_schema(
        operation_id="draft_save",
        summary="Save the text for an image",
        description="Saving the same text again changes nothing.",
        tags=TAGS,
        request=DraftSerializer,
        responses=DraftedSerializer,
    )
    def put(self, request: Request, batch_id: UUID, position: int) -> Response:
        batch_for(asker(request), batch_id)
        sent = given(DraftSerializer, request)
        with refusals():
            item = batches.save_draft(
                batch_id=batch_id, annotator=asker(request), position=position, now=timezone.now(), **sent
            )
        warnings = work.warnings_of(item, work.language_of(item.batch.round_id))
        kept = {"position": position, "revision": item.revision, "written": work.written_so_far(item.batch)}
        return Response(DraftedSerializer({**kept, "warnings": warnings}).data)


class BatchSubmit(APIView):
    @extend_schema(
        operation_id="batch_submit",
        summary="Submit a batch",
        description="Repeating the request has no further effect and gets the same answer. Captions that are almost "
        "the same as the English ones are refused the first time, and accepted with `copies_seen`.",
        tags=TAGS,
        request=SubmitSerializer,
        responses=BatchSerializer,
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch_for(asker(request), batch_id)
        sent = given(SubmitSerializer, request)
        with refusals():
            batches.submit_batch(batch_id=batch_id, annotator=asker(request), now=timezone.now(), **sent)
        return answer(request, batch_id)


class BatchReturn(APIView):
    @extend_schema(
        operation_id="batch_return",
        summary="Return a batch",
        description="Your ratings and drafts are kept.",
        tags=TAGS,
        request=None,
        responses=BatchSerializer,
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch_for(asker(request), batch_id)
        with refusals():
            batches.return_batch(batch_id=batch_id, annotator=asker(request), now=timezone.now())
        return answer(request, batch_id)


class BatchResume(APIView):
    @extend_schema(
        operation_id="batch_resume",
        summary="Resume a batch",
        description="You get the images that are still free.",
        tags=TAGS,
        request=None,
        responses=BatchSerializer,
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch_for(asker(request), batch_id)
        with refusals():
            batches.resume_batch(batch_id=batch_id, annotator=asker(request), now=timezone.now())
        return answer(request, batch_id)


class OwnCaptionSerializer(serializers.ModelSerializer[Caption]):
    project = serializers.CharField(source="round.project.slug")
    language = serializers.CharField(source="round.language_id")
    batch = serializers.UUIDField(source="item.batch_id")
    position = serializers.IntegerField(source="item.position")
    state = serializers.ChoiceField(CaptionState.choices)

    class Meta:
        model = Caption
        fields = ("id", "project", "language", "round", "batch", "position", "text", "state", "submitted_at")


class OwnCaptionList(APIView):
    @extend_schema(
        operation_id="own_captions",
        summary="Your submissions",
        tags=TAGS,
        parameters=PARAMETERS,
        responses=paged("OwnCaptionPage", OwnCaptionSerializer),
    )
    def get(self, request: Request) -> Response:
        mine = Caption.objects.filter(author=asker(request), item__isnull=False)
        rounds = Round.objects.filter(pk__in=mine.values("round")).order_by("pk")
        parts = (Part(round.pk, mine.filter(round=round).select_related("round__project", "item")) for round in rounds)
        return page(request, parts, order=["pk"], show=lambda rows: OwnCaptionSerializer(rows, many=True).data)


class OwnFeedbackSerializer(serializers.ModelSerializer[Feedback]):
    project = serializers.CharField(source="project.slug")

    class Meta:
        model = Feedback
        fields = ("id", "project", "round", "caption", "text", "at", "acknowledged_at")


class OwnFeedbackList(APIView):
    @extend_schema(
        operation_id="own_feedback",
        summary="Your feedback",
        tags=TAGS,
        parameters=PARAMETERS,
        responses=paged("OwnFeedbackPage", OwnFeedbackSerializer),
    )
    def get(self, request: Request) -> Response:
        mine = readable_feedback(asker(request)).select_related("project")
        show = OwnFeedbackSerializer
        return page(request, [Part(0, mine)], order=["pk"], show=lambda rows: show(rows, many=True).data)


class FeedbackAcknowledge(APIView):
    @extend_schema(
        operation_id="feedback_acknowledge",
        summary="Confirm that you have read feedback",
        description="Required before you take another batch of the project. If you repeat it, the first time is kept.",
        tags=TAGS,
        request=None,
        responses=OwnFeedbackSerializer,
    )
    def post(self, request: Request, feedback_id: int) -> Response:
        with refusals():
            found = feedback.acknowledge(feedback_id=feedback_id, person=asker(request), now=timezone.now())
        return Response(OwnFeedbackSerializer(found).data)


def is_written_in(round: Round) -> bool:
    return round.kind != RoundKind.VERIFICATION


def given(shape: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """What was sent, in `shape`.

    Raises
    ------
    rest_framework.exceptions.ValidationError
    """
    sent = shape(data=request.data)
    sent.is_valid(raise_exception=True)
    found: dict[str, Any] = sent.validated_data
    return found


def answer(request: Request, batch_id: UUID) -> Response:
    """A batch as it stands."""
    user, now = asker(request), timezone.now()
    batch = batch_for(user, batch_id)
    head = work.batch_head(batch, size=0, now=now)
    is_away = head.state == BatchState.RETURNED or (batch.stage == Stage.RATE and not head.is_open)
    about: dict[str, Any] = dict(HeadSerializer(head).data)
    return Response(about | {"items": [] if is_away else ItemSerializer(_items(batch, user), many=True).data})


def _items(batch: CaptionBatch, user: User) -> Sequence[dict[str, Any]]:
    """By stage, as the page of it has them; of screen 1 nothing is read once it is over."""
    if batch.stage == Stage.RATE:
        return [
            _item(item.position, item.image, english=item.english, rating=item.rating or None)
            for item in work.rate_page(batch, user, timezone.now()).items
        ]
    written = work.submitted if batch.stage == Stage.SUBMITTED else work.own_captions
    return [
        _item(item.position, item.image, text=item.text, revision=item.revision, warnings=item.warnings)
        for item in written(batch, user)
    ]


def _item(position: int, image: Any, **more: Any) -> dict[str, Any]:
    nothing = {"english": None, "rating": None, "text": None, "revision": None, "warnings": ()}
    return {"position": position, "image": served_fields(image)} | nothing | more
