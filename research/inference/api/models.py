"""Captioning models, for managers and researchers: read, change, merge and delete them."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form, form_shape
from core.people.api.operations import ApiOperations, one_address
from core.people.api.owners import change_owner_as_sent, owner_fields
from core.people.api.pagination import ListPart, page
from core.people.api.problems import explain, refused_as
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import User
from core.people.permissions import check_reader
from research.inference.backends.captioners import BackendSettingsError
from research.inference.forms.models import ModelEditForm
from research.inference.models import CaptioningModel
from research.inference.permissions import model_for, model_to_change, namesakes_of
from research.inference.selectors.models import ModelRow, model_rows, models_named
from research.inference.services import models as services

api = ApiOperations("models")
explain({"model-refused": "The model cannot be changed so; detail says why."})
MAX_QUERY_CHARACTERS = 200
MAX_ID = 2**63 - 1


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


ModelChangeSerializer = form_shape(
    "ModelChange",
    ModelEditForm,
    filled=None,
    is_retired=serializers.BooleanField(required=False, help_text="A retired model has no new runs."),
    **owner_fields(),
)


class MergeSerializer(serializers.Serializer[Any]):
    into = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The ID of the model that stays.")


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
    return _answer(model_for(user, model_id), user)


@api.patch(
    "model_change",
    "Rename, describe, retire, restore or share a model, or give it to another project",
    ModelSerializer,
    request=ModelChangeSerializer,
    description="All of it or nothing. Its variants move and retire with it.",
)
def model_change(request: Request, model_id: int) -> Response:
    who: dict[str, Any] = {"by": person_asking(request), "now": timezone.now()}
    model = model_to_change(who["by"], model_id)
    sent = validated_data(ModelChangeSerializer, request)
    is_retired = sent.pop("is_retired", None)
    with transaction.atomic(), refused_as("model-refused", BackendSettingsError, services.ModelUsedError):
        change_owner_as_sent(sent, thing=model, give=partial(services.give_model, model=model), by=who["by"])
        if is_retired is not None:
            services.set_retired(model=model, is_retired=is_retired, **who)
        if sent:
            initial = {"name": model.name, "description": model.description}
            form = filled_form(partial(ModelEditForm, initial=initial), sent)
            services.edit_model(model=model, **form.cleaned_data, **who)
    return _answer(model_for(who["by"], model_id), who["by"])


@api.delete("model_delete", "Delete a model that nothing uses, with its variants, runs and captions")
def model_delete(request: Request, model_id: int) -> Response:
    by = person_asking(request)
    with refused_as("model-refused", BackendSettingsError, services.ModelUsedError):
        services.delete_model(model=model_to_change(by, model_id), by=by, now=timezone.now())
    return Response(status=204)


@api.post(
    "model_merge",
    "Give the captions of an imported model to another of its name, and delete it",
    {200: ModelSerializer},
    request=MergeSerializer,
)
def model_merge(request: Request, model_id: int) -> Response:
    by = person_asking(request)
    model = model_to_change(by, model_id)
    namesakes, sent = namesakes_of(by, model), validated_data(MergeSerializer, request)
    into = namesakes.filter(pk=sent["into"]).first()
    if into is None:
        raise serializers.ValidationError({"into": [valid_values(namesakes.values_list("pk", flat=True))]})
    with refused_as("model-refused", BackendSettingsError, services.ModelUsedError):
        services.merge_model(model=model, into=into, by=by, now=timezone.now())
    return _answer(into, by)


def _answer(model: CaptioningModel, user: User) -> Response:
    return Response(ModelSerializer(model_rows([model], user)[0]).data)


model_show_change_or_delete = one_address(model_show, model_change, model_delete)
