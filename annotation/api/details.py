"""Private details in captions before a release, and decisions about them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.managing import with_words
from annotation.models import Round
from annotation.permissions import any_caption_managed_by
from annotation.rules.people_details import PEOPLE_KINDS
from annotation.rules.private_details import DetailKind
from annotation.selectors.details import details_page, people_found
from annotation.services import details
from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain
from core.people.api.requested import asked_language, validated_data
from core.people.api.views import person_asking
from core.people.models import Role

api = ApiOperations("releases")
explain({"details-refused": "The decision is not possible; detail says why."})


class FoundDetailSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(DetailKind.choices)
    text = serializers.CharField(help_text="As it stands in the caption.")


class CaptionWithDetailsSerializer(serializers.Serializer[Any]):
    caption = serializers.IntegerField(source="caption.pk")
    language = serializers.CharField(source="caption.round.language_id")
    image = serializers.CharField(source="image_key")
    text = serializers.CharField(source="caption.text")
    details = FoundDetailSerializer(many=True)
    may_be_left_out = serializers.BooleanField(help_text="Before its round is accepted, return it to its author.")


class DetailsSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="How many captions nobody has decided about; at most 100 are listed.")
    results = CaptionWithDetailsSerializer(many=True, source="undecided")


class PeopleFoundSerializer(serializers.Serializer[Any]):
    by_kind = serializers.DictField(child=serializers.IntegerField(), help_text="How many captions, by kind.")
    results = CaptionWithDetailsSerializer(many=True, source="rows", help_text="The first 100.")


class DetailDecisionSerializer(serializers.Serializer[Any]):
    choice = serializers.ChoiceField(details.DetailChoice.choices)


@api.get("details", "Captions with private details that nobody has decided about", DetailsSerializer)
def details_list(request: Request, slug: str) -> Response:
    return Response(DetailsSerializer(details_page(with_words(request, slug, Role.MANAGER))).data)


@api.get(
    "details_people",
    "Captions that may name or describe a person, to look at",
    PeopleFoundSerializer,
    description="Most are harmless. Captions that somebody decided about are left out.",
    parameters=[
        OpenApiParameter("language", str, description="Only captions in this language, by its tag."),
        OpenApiParameter("kind", str, enum=[kind.value for kind in PEOPLE_KINDS], description="Only of this kind."),
    ],
)
def details_people(request: Request, slug: str) -> Response:
    project = with_words(request, slug, Role.MANAGER)
    tags = Round.objects.filter(project=project).values_list("language", flat=True)
    language = asked_language(request, sorted({*tags})) or ""
    found = people_found(project, language=language, kind=request.query_params.get("kind", ""))
    return Response(PeopleFoundSerializer(found).data)


@api.post(
    "details_decide",
    "Decide about a caption with private details",
    DetailDecisionSerializer,
    request=DetailDecisionSerializer,
    description="`leave-out` makes it count no more; `undo` takes a decision back. A rewritten one is listed again.",
)
def details_decide(request: Request, slug: str, caption_id: int) -> Response:
    with_words(request, slug, Role.MANAGER)
    caption = any_caption_managed_by(person_asking(request), slug, caption_id)
    choice = details.DetailChoice(validated_data(DetailDecisionSerializer, request)["choice"])
    try:
        details.decide(caption_id=caption.pk, choice=choice, by=person_asking(request), now=timezone.now())
    except details.DetailDecisionError as refused:
        raise ApiError(409, "details-refused", refused) from None
    return Response({"choice": choice})
