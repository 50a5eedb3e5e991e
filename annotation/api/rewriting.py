"""Captions that were returned to an annotator, to be rewritten."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Caption, CaptionState
from annotation.permissions import caption_to_correct
from annotation.rules import text_checks
from annotation.selectors.feedback import caption_to_rewrite, warnings_for
from annotation.services import corrections
from core.allocation.api.steps import refusals_as_problems
from core.images.api.shapes import ServedImageSerializer, served_fields
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import ApiError
from core.people.api.requested import validated_data
from core.people.api.views import person_asking

api = ApiOperations("work")


class CaptionRewritingSerializer(serializers.Serializer[Any]):
    project = serializers.CharField(source="project.slug")
    language = serializers.CharField(source="language.tag")
    image = ServedImageSerializer(allow_null=True, help_text="Null while it is in a batch that is assigned to you.")
    note = serializers.CharField(help_text="Why a manager returned the caption; empty while there is no image.")
    text = serializers.CharField()
    is_waiting = serializers.BooleanField(help_text="Whether you still have to rewrite it.")


class RewriteSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(trim_whitespace=False, allow_blank=True, max_length=text_checks.MAX_DRAFT_CHARACTERS)
    seen = serializers.ListField(
        child=serializers.ChoiceField(text_checks.WARNINGS),
        default=list,
        help_text="Codes of the warnings with which to submit it all the same.",
    )


@api.get("caption_rewriting", "A caption of yours that was returned", CaptionRewritingSerializer)
def rewriting_show(request: Request, caption_id: int) -> Response:
    return _answer(request, caption_to_correct(person_asking(request), caption_id))


@api.put(
    "caption_rewrite",
    "Rewrite a caption that was returned",
    CaptionRewritingSerializer,
    description="It is submitted at once. Sending the same text again changes nothing.",
    request=RewriteSerializer,
)
def caption_rewrite(request: Request, caption_id: int) -> Response:
    author = person_asking(request)
    caption = caption_to_correct(author, caption_id)
    sent = validated_data(RewriteSerializer, request)
    if caption_to_rewrite(caption, author).image is None:
        said = _(
            "This image is in a batch that is assigned to you. Submit that batch first; then you can rewrite this "
            "caption."
        )
        raise ApiError(409, "images-assigned", said)
    _check_warnings_seen(caption, **sent)
    with refusals_as_problems():
        corrections.rewrite(caption_id=caption.pk, author=author, text=sent["text"], now=timezone.now())
    return _answer(request, caption_to_correct(author, caption_id))


def _check_warnings_seen(caption: Caption, text: str, seen: list[str]) -> None:
    if caption.state != CaptionState.RETURNED or text_checks.hard_error(text):
        return
    unseen = {warning.code: [warning.message] for warning in warnings_for(caption, text) if warning.code not in seen}
    if unseen:
        said = _("Read the warnings. Change the caption, or submit it as it is.")
        raise ApiError(409, "warnings-unseen", said, unseen)


def _answer(request: Request, caption: Caption) -> Response:
    shown = caption_to_rewrite(caption, person_asking(request))
    image = shown.image and served_fields(shown.image)
    return Response(CaptionRewritingSerializer({**vars(shown), "image": image}).data)


rewriting_show_or_rewrite = one_address(rewriting_show, caption_rewrite)
