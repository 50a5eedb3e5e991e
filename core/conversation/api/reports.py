"""Report an image, and what managers decide about reported images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.conversation import services
from core.conversation.api.messages import asked_of_inbox
from core.conversation.models import ImageReport, ReportedImage, ReportedState
from core.conversation.permissions import KINDS, inbox_of, item_for, reported_image_for
from core.conversation.rules import ReportReason
from core.conversation.selectors import reported_images, seen_captions
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import Project, User
from core.people.rules.pseudonyms import pseudonym

api = ApiOperations("inbox")
DECISIONS = [one for one in ReportedState.choices if one[0] != ReportedState.REPORTED]


class ReportSerializer(serializers.Serializer[Any]):
    reason = serializers.ChoiceField(ReportReason.choices)
    comment = serializers.CharField(allow_blank=True, default="", max_length=services.MAX_COMMENT_CHARACTERS)

    def validate_reason(self, reason: str) -> str:
        if reason not in (reasons := self.context["reasons"]):
            raise serializers.ValidationError(valid_values(reasons))
        return reason


class SeenCaptionSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    language = serializers.CharField(source="language.tag")


class ImageReportSerializer(serializers.ModelSerializer[ImageReport]):
    person = serializers.SerializerMethodField(help_text="A pseudonym.")
    captions = serializers.SerializerMethodField(
        help_text="What they saw with the image: the English caption, the one to rate, or both of a pair."
    )

    thread = serializers.IntegerField(
        source="message.thread_id", default=None, allow_null=True, help_text="In which its comment can be answered."
    )

    class Meta:
        model = ImageReport
        fields = ("person", "language", "reason", "comment", "at", "captions", "thread")

    @extend_schema_field(SeenCaptionSerializer(many=True))
    def get_captions(self, report: ImageReport) -> Any:
        return SeenCaptionSerializer(self.context["seen"].get(report.pk, ()), many=True).data

    def get_person(self, report: ImageReport) -> str:
        return pseudonym(self.context["project"], report.person_id)


class ReportedImageSerializer(serializers.ModelSerializer[ReportedImage]):
    image = serializers.CharField(source="image.sha256", help_text="SHA-256 of its file.")
    state = serializers.ChoiceField(ReportedState.choices)
    language = serializers.CharField(
        source="language_id",
        allow_null=True,
        help_text="The language whose work reports of a caption's language pause; null for the image in all languages.",
    )
    reports = ImageReportSerializer(many=True, source="readable")

    class Meta:
        model = ReportedImage
        fields = ("id", "image", "language", "state", "reported_at", "decided_at", "reports")


class ImageDecisionSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(DECISIONS)


@api.post(
    "report_send",
    "Report an image of a batch of yours, and skip it",
    {204: None},
    request=ReportSerializer,
    has_key=False,
    description="`kind` is captions, ratings, pairs or turns. Others get the image; you do not get it again. An "
    "answer that was submitted before stays. In the game (`turns`) you skip the sentence, which scores nothing; the "
    "reason `language` is refused there.",
)
def report_send(request: Request, kind: str, batch_id: UUID, position: int) -> Response:
    item_for(person_asking(request), kind, batch_id, position)
    sent = validated_data(ReportSerializer, request, {"reasons": KINDS[kind].reasons})
    about: dict[str, Any] = {"kind": kind, "batch_id": batch_id, "position": position} | sent
    services.report_image(**about, person=person_asking(request), now=timezone.now())
    return Response(status=204)


@api.list(
    "reported_images",
    "Images that people reported",
    "ReportedImagePage",
    ReportedImageSerializer,
    parameters=[
        OpenApiParameter("answered", str, enum=["yes"], description="Those that a manager decided about."),
        OpenApiParameter("language", str, description="Only those reported in this language, by its tag."),
    ],
)
def image_list(request: Request, slug: str) -> Response:
    project = inbox_of(person_asking(request), slug)
    rows = reported_images(project, reader=person_asking(request), **asked_of_inbox(request, project))
    return page(request, [ListPart(0, rows)], order=["pk"], show=partial(_shown, project, person_asking(request)))


@api.post(
    "reported_image_decide",
    "Pause, resume or withdraw a reported image",
    {204: None},
    request=ImageDecisionSerializer,
    has_key=False,
    description="Nobody gets a paused or withdrawn image. People who have it already can finish it.",
)
def image_decide(request: Request, slug: str, reported_id: int) -> Response:
    reported = reported_image_for(person_asking(request), slug, reported_id)
    state = ReportedState(validated_data(ImageDecisionSerializer, request)["state"])
    services.decide_image(reported_id=reported.pk, state=state, by=person_asking(request), now=timezone.now())
    return Response(status=204)


def _shown(project: Project, reader: User, rows: Sequence[ReportedImage]) -> Any:
    context = {"project": project, "seen": seen_captions(rows, reader=reader)}
    return ReportedImageSerializer(rows, many=True, context=context).data
