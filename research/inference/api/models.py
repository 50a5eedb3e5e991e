"""Captioning models, for managers and researchers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.views import person_asking
from core.people.permissions import check_reader
from research.inference.permissions import model_for
from research.inference.selectors.models import ModelRow, model_rows, models_named

api = ApiOperations("models")
MAX_QUERY_CHARACTERS = 200


class ModelSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="model.pk")
    name = serializers.CharField(source="model.name")
    description = serializers.CharField(source="model.description", allow_blank=True)
    backend = serializers.CharField(source="model.backend", help_text="How its captions are made.")
    source = serializers.CharField(source="model.source", allow_blank=True)  # type: ignore[assignment]
    project = serializers.SerializerMethodField(help_text="The slug of its owner; null if it has none.")
    is_shared = serializers.BooleanField(source="model.is_shared")
    variant_of = serializers.IntegerField(source="model.variant_of_id", allow_null=True, help_text="The ID of a model.")
    retired_at = serializers.DateTimeField(source="model.retired_at", allow_null=True)
    captions = serializers.SerializerMethodField(help_text="How many it has, by language.")

    def get_project(self, row: ModelRow) -> str | None:
        return row.model.project.slug if row.model.project else None

    def get_captions(self, row: ModelRow) -> dict[str, int]:
        return {language.pk: count for language, count in row.captions}


@api.list(
    "models",
    "The models that you may use",
    "ModelPage",
    ModelSerializer,
    parameters=[OpenApiParameter("q", str, description="Only models with this text in their name or source.")],
)
def model_list(request: Request) -> Response:
    user = person_asking(request)
    check_reader(user)
    # PostgreSQL cannot search for a NUL, nor SQLite for a very long text.
    asked = request.query_params.get("q", "").replace("\0", "").strip()[:MAX_QUERY_CHARACTERS]
    return page(
        request,
        [ListPart(0, models_named(asked, user))],
        order=["pk"],
        show=lambda rows: ModelSerializer(model_rows(rows, user), many=True).data,
    )


@api.get("model", "A model", ModelSerializer)
def model_show(request: Request, model_id: int) -> Response:
    user = person_asking(request)
    return Response(ModelSerializer(model_rows([model_for(user, model_id)], user)[0]).data)
