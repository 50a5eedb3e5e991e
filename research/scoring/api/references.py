"""Sets of reference captions, for managers and researchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.db.models import OuterRef, Subquery
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import CollectionImage
from core.people.api.forms import form_shape, sent_form
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import asking_now, person_asking
from core.people.permissions import READERS, project_for
from research.scoring.forms.references import ReferenceTranslationForm
from research.scoring.forms.scores import WithoutReferencesForm
from research.scoring.models import Reference, ReferenceKind, ReferenceSet, ReferenceTranslation
from research.scoring.permissions import has_assigned_images, images_are_closed, reference_set_for
from research.scoring.selectors.setup import reference_sets, written_by_people
from research.scoring.services import references as services
from research.scoring.services.reference_translations import start_translations, translate_again
from research.scoring.tasks import ask_for_translation

api = ApiOperations("scores")
explain({"references-refused": "The references cannot be changed so; detail says why."})


class ReferenceSetSerializer(serializers.ModelSerializer[ReferenceSet]):
    language = serializers.CharField(source="language_id")
    collection = serializers.SlugField(source="collection.slug")
    kind = serializers.ChoiceField(ReferenceKind.choices)

    class Meta:
        model = ReferenceSet
        fields = (
            *("id", "name", "language", "collection", "kind", "source", "is_evaluation"),
            *("images", "captions", "created_at", "changed_at"),
        )
        read_only_fields = fields


class ReferenceCaptionSerializer(serializers.ModelSerializer[Reference]):
    image = serializers.UUIDField(source="image.public_id", help_text="The ID of the image.")
    key = serializers.CharField(allow_null=True, help_text="Its key; null once it has left the collection.")

    class Meta:
        model = Reference
        fields = ("image", "key", "position", "text")
        read_only_fields = fields


class ReferenceSetsSerializer(serializers.Serializer[Any]):
    results = ReferenceSetSerializer(many=True)


class EvaluationSerializer(serializers.Serializer[Any]):
    is_evaluation = serializers.BooleanField()


WithoutReferencesSerializer = form_shape("WithoutReferences", WithoutReferencesForm)
NewTranslationsSerializer = form_shape("NewTranslations", ReferenceTranslationForm, filled=("name",))


@api.list("references", "The reference captions of a project", "ReferenceSetPage", ReferenceSetSerializer)
def reference_list(request: Request, slug: str) -> Response:
    rows = reference_sets(project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(ReferenceSetSerializer))


@api.post(
    "references_without_captions",
    "Get what stands for the images of a collection, to score captions without references",
    ReferenceSetSerializer,
    request=WithoutReferencesSerializer,
    description="For metrics that need no references in the language, such as CMedRel. Sent again, it is the same set.",
)
def references_without_captions(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    form = sent_form(request, WithoutReferencesSerializer, partial(WithoutReferencesForm, project=project))
    with refused_as("references-refused", services.ReferenceFileError):
        made = services.without_references(project=project, **form.cleaned_data, **asking_now(request))
    return Response(ReferenceSetSerializer(made).data)


@api.get("reference_set", "A set of reference captions", ReferenceSetSerializer)
def reference_show(request: Request, slug: str, set_id: int) -> Response:
    return Response(ReferenceSetSerializer(reference_set_for(person_asking(request), slug, set_id)).data)


@api.list(
    "reference_captions",
    "The captions of a set of references",
    "ReferenceCaptionPage",
    ReferenceCaptionSerializer,
    description="Refused while images of the set are assigned to you.",
)
def reference_captions(request: Request, slug: str, set_id: int) -> Response:
    by = person_asking(request)
    found = reference_set_for(by, slug, set_id)
    if has_assigned_images(by, [found]):
        raise ApiError(409, "images-assigned", images_are_closed())
    key = CollectionImage.objects.filter(collection=found.collection_id, image=OuterRef("image")).values("key")
    rows = found.references.select_related("image").annotate(key=Subquery(key[:1]))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(ReferenceCaptionSerializer))


@api.patch(
    "reference_change",
    "Make references an evaluation set, or end that",
    ReferenceSetSerializer,
    request=EvaluationSerializer,
    description="No model of the project is trained on images of an evaluation set.",
)
def reference_change(request: Request, slug: str, set_id: int) -> Response:
    found = reference_set_for(person_asking(request), slug, set_id)
    services.set_evaluation(reference_set=found, **validated_data(EvaluationSerializer, request))
    return Response(ReferenceSetSerializer(reference_set_for(person_asking(request), slug, set_id)).data)


@api.delete("reference_delete", "Remove references that nothing is scored against")
def reference_delete(request: Request, slug: str, set_id: int) -> Response:
    with refused_as("references-refused", services.ReferenceFileError):
        services.drop_references(reference_set=reference_set_for(person_asking(request), slug, set_id))
    return Response(status=204)


@api.post(
    "references_translate",
    "Translate English references into other languages",
    {202: ReferenceSetsSerializer},
    request=NewTranslationsSerializer,
    description="Each language gets a set of its own, in the background.",
)
def references_translate(request: Request, slug: str, set_id: int) -> Response:
    by = person_asking(request)
    english = reference_set_for(by, slug, set_id)
    make = partial(ReferenceTranslationForm, by=by, english=english, people=written_by_people(english))
    form = sent_form(request, NewTranslationsSerializer, make)
    with refused_as("references-refused", services.ReferenceFileError):
        made = start_translations(english=english, **form.answers(), by=by, now=timezone.now())
    return _translating([one.made for one in made])


@api.post(
    "reference_again", "Resume a failed translation, or translate what has changed", {202: ReferenceSetsSerializer}
)
def reference_again(request: Request, slug: str, set_id: int) -> Response:
    with refused_as("references-refused", services.ReferenceFileError):
        asked = translate_again(made=reference_set_for(person_asking(request), slug, set_id))
    return _translating([asked.made])


@job_kind("translation")
def translation_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, pk in ReferenceTranslation.objects.filter(pk__in=pks).values_list("made__project__slug", "made"):
        one = reference_set_for(person_asking(request), slug, pk).translation
        address = reverse("api:reference-show", args=[slug, pk])
        yield JobReport(one.state, address, one.error, one.done, one.total, one.finished_at)


def _translating(sets: Sequence[ReferenceSet]) -> Response:
    asked = [one.translation.pk for one in sets]
    for pk in asked:
        ask_for_translation(pk)
    return started({"results": ReferenceSetSerializer(sets, many=True).data}, "translation", *asked)


reference_list_or_create = one_address(reference_list, references_without_captions)
reference_show_change_or_delete = one_address(reference_show, reference_change, reference_delete)
