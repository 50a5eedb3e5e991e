"""Encoders, and runs that compute vectors with them."""

from __future__ import annotations

from functools import partial

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form, form_shape
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.permissions import check_reader, project_for
from research.inference.api.runs import RunSerializer, run_started, work_refusals
from research.inference.forms.embeddings import EmbeddingForm
from research.inference.models import EmbeddingSet, Encoder
from research.inference.permissions import encoders_for
from research.inference.selectors.embedding_sets import embedding_sets
from research.inference.services import runs as services

api = ApiOperations("models")


class EncoderSerializer(serializers.ModelSerializer[Encoder]):
    project = serializers.SlugField(source="project.slug", allow_null=True, default=None)

    class Meta:
        model = Encoder
        fields = ("id", "name", "description", "backend", "project", "is_shared", "dimensions")
        read_only_fields = fields


class EmbeddingSetSerializer(serializers.ModelSerializer[EmbeddingSet]):
    collection = serializers.SlugField(source="run.collection.slug")
    images = serializers.IntegerField(source="rows")
    captions_of = serializers.IntegerField(
        source="captions_of_id", allow_null=True, help_text="The ID of the model whose captions they are of, or null."
    )
    is_complete = serializers.SerializerMethodField()

    class Meta:
        model = EmbeddingSet
        fields = ("id", "encoder", "collection", "captions_of", "language", "images", "is_complete", "created_at")
        read_only_fields = fields

    def get_is_complete(self, row: EmbeddingSet) -> bool:
        return bool(row.file)


NewEmbeddingsSerializer = form_shape(
    "NewEmbeddings",
    EmbeddingForm,
    omit=("project",),
    encoder=serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The ID of the encoder."),
    captions_of=serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="The ID of a model; without one, of the images."
    ),
    project=serializers.SlugField(required=False, help_text="The slug of its owner."),
)


@api.list("encoders", "The encoders that you may use", "EncoderPage", EncoderSerializer)
def encoder_list(request: Request) -> Response:
    user = person_asking(request)
    check_reader(user)
    rows = encoders_for(user).select_related("project")
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(EncoderSerializer))


@api.list(
    "embeddings", "The vectors of images and captions that you may use", "EmbeddingSetPage", EmbeddingSetSerializer
)
def embedding_list(request: Request) -> Response:
    check_reader(person_asking(request))
    rows = embedding_sets(person_asking(request))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(EmbeddingSetSerializer))


@api.post(
    "embeddings_start",
    "Compute vectors of images, or of a model's captions",
    {202: RunSerializer},
    request=NewEmbeddingsSerializer,
)
def embeddings_start(request: Request) -> Response:
    by = person_asking(request)
    check_reader(by)
    sent = validated_data(NewEmbeddingsSerializer, request)
    if "project" in sent:
        sent["project"] = project_for(by, sent["project"]).pk
    form = filled_form(partial(EmbeddingForm, by=by), sent)
    with work_refusals():
        run = services.start_embeddings(**form.cleaned_data, by=by, now=timezone.now())
    return run_started(run)


embedding_list_or_start = one_address(embedding_list, embeddings_start)
