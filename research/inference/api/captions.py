"""Captions that models wrote: read them, and switch one off or on."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.api.forms import filled_form
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import asked_language, asked_row, check_form, validated_data
from core.people.api.views import person_asking
from research.inference.forms.captions import KeyForm, SwitchOffForm
from research.inference.models import ModelCaption
from research.inference.permissions import caption_to_switch, model_for
from research.inference.selectors.gallery import GalleryImagesShown, captions_by, check_not_hidden
from research.inference.services.caption_switches import switch_off, switch_on

api = ApiOperations("models")


class ModelCaptionSerializer(serializers.ModelSerializer[ModelCaption]):
    image = serializers.UUIDField(source="image.public_id", help_text="The ID of the image.")
    language = serializers.CharField(source="language_id")

    class Meta:
        model = ModelCaption
        fields = ("id", "image", "language", "text", "switched_off_at", "switched_off_reason")
        read_only_fields = fields


class CaptionSwitchSerializer(serializers.Serializer[Any]):
    is_off = serializers.BooleanField()
    reason = serializers.CharField(required=False, help_text="Of switching it off.")


@api.list(
    "model_captions",
    "The captions by a model",
    "ModelCaptionPage",
    ModelCaptionSerializer,
    description="Without those of images that are assigned to you.",
    parameters=[
        OpenApiParameter("language", str, description="Only this language, by its tag, in any spelling."),
        OpenApiParameter("collection", str, description="Only of images of this collection, by its slug."),
        OpenApiParameter("key", str, description="Only of images whose key contains this."),
        OpenApiParameter("show", str, enum=[GalleryImagesShown.OFF], description="Only those that are switched off."),
    ],
)
def model_caption_list(request: Request, model_id: int) -> Response:
    user = person_asking(request)
    model, collections = model_for(user, model_id), collections_to_use(user)
    if chosen := asked_row(request, "collection", collections, by="slug"):
        collections = collections.filter(pk=chosen.pk)
    named = KeyForm(request.query_params)
    check_form(named)
    rows = captions_by(model, user, collections, key=named.cleaned_data["key"])
    if request.query_params.get("show") == GalleryImagesShown.OFF:
        rows = rows.filter(switched_off_at__isnull=False)
    if language := asked_language(request, Language.objects.values_list("pk", flat=True)):
        rows = rows.filter(language=language)
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(ModelCaptionSerializer))


@api.patch(
    "model_caption_switch",
    "Switch a model's caption off, for a reason, or on again",
    ModelCaptionSerializer,
    request=CaptionSwitchSerializer,
    description="One that is off is in no new work. What was rated, compared or scored keeps it.",
)
def model_caption_switch(request: Request, caption_id: int) -> Response:
    by, now = person_asking(request), timezone.now()
    caption = caption_to_switch(by, caption_id)
    check_not_hidden(by, caption.image_id)
    sent = validated_data(CaptionSwitchSerializer, request)
    if sent.pop("is_off"):
        changed = switch_off(caption_id=caption.pk, **filled_form(SwitchOffForm, sent).cleaned_data, by=by, now=now)
    else:
        changed = switch_on(caption_id=caption.pk, by=by, now=now)
    return Response(ModelCaptionSerializer(changed).data)
