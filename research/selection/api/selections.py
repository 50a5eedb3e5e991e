"""List, show and start selections of images by place, and read the images chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import Collection
from core.images.permissions import collections_in
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.api.forms import filled_form, form_shape
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import asked_language, validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from research.selection import tasks
from research.selection.forms.selections import ExchangeForm
from research.selection.models import CandidateList, PlaceLevelChoice, SelectedImage, Selection
from research.selection.permissions import selection_for
from research.selection.selectors.pools import source_of
from research.selection.selectors.selections import selections_of, slugs_by_language
from research.selection.services import selections as services
from research.selection.services.exchanges import exchange_image

api = ApiOperations("selections")
explain({"selection-refused": "The images cannot be chosen so; detail says why."})


class SelectionSerializer(serializers.ModelSerializer[Selection]):
    state = serializers.ChoiceField(JobState.choices)
    chosen_from = serializers.SerializerMethodField(help_text="Slug of the collection or candidate list.")
    collection = serializers.SerializerMethodField(help_text="Slug of that of the images chosen, once confirmed.")
    collections = serializers.SerializerMethodField(
        help_text="By language: slug of the collection of its images alone."
    )
    languages = serializers.ListField(child=serializers.CharField())
    levels = serializers.ListField(child=serializers.ChoiceField(PlaceLevelChoice.choices))
    counts = serializers.SerializerMethodField(help_text="By language: pool, free, chosen and missing, by level.")

    class Meta:
        model = Selection
        fields = (
            "number",
            "name",
            "state",
            "error",
            "chosen_from",
            "languages",
            "levels",
            "per_language",
            "seed",
            "table",
            "borders",
            "counts",
            "collection",
            "collections",
            "created_at",
            "confirmed_at",
        )
        read_only_fields = fields

    def get_chosen_from(self, selection: Selection) -> str:
        return source_of(selection).slug

    def get_collection(self, selection: Selection) -> str | None:
        return selection.collection.slug if selection.collection else None

    def get_collections(self, selection: Selection) -> dict[str, str]:
        return slugs_by_language(selection)

    def get_counts(self, selection: Selection) -> dict[str, Any]:
        return {name: value for name, value in selection.counts.items() if name != "reserve"}


class NewSelectionSerializer(serializers.Serializer[Any]):
    collection = serializers.SlugField(required=False, help_text="Choose from this collection, by its slug.")
    candidates = serializers.SlugField(required=False, help_text="Or from this candidate list, by its slug.")
    languages = serializers.ListField(child=serializers.CharField(), min_length=1, help_text="Tags.")
    per_language = serializers.IntegerField(min_value=1, max_value=services.MAX_PER_LANGUAGE, default=100)
    seed = serializers.IntegerField(min_value=0, max_value=services.MAX_SEED)
    levels = serializers.ListField(
        child=serializers.ChoiceField(PlaceLevelChoice.choices), default=list(PlaceLevelChoice.values)
    )
    name = serializers.CharField(max_length=services.NAME_CHARACTERS, allow_blank=True, default="")


class ConfirmSerializer(serializers.Serializer[Any]):
    by_language = serializers.BooleanField(
        default=False, help_text="Also make one collection per language, of the images chosen for it alone."
    )


NewExchangeSerializer = form_shape(
    "NewExchange",
    ExchangeForm,
    omit=("replacement",),
    language=serializers.CharField(help_text="Its tag."),
    key=serializers.CharField(help_text="Of the image that leaves."),
    named=serializers.CharField(required=False, allow_blank=True, max_length=200, help_text="Key of the new image."),
)


class SelectedImageSerializer(serializers.ModelSerializer[SelectedImage]):
    language = serializers.CharField(source="language_id")
    level = serializers.ChoiceField(PlaceLevelChoice.choices)
    countries = serializers.SerializerMethodField()
    regions = serializers.SerializerMethodField()

    class Meta:
        model = SelectedImage
        fields = ("key", "language", "level", "position", "countries", "regions", "continent")
        read_only_fields = fields

    def get_countries(self, row: SelectedImage) -> list[str]:
        return row.countries.split()

    def get_regions(self, row: SelectedImage) -> list[str]:
        return row.regions.split()


@api.list("selections", "The selections of a project", "SelectionPage", SelectionSerializer)
def selection_list(request: Request, slug: str) -> Response:
    rows = selections_of(project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["number"], show=many_shown(SelectionSerializer))


@api.post(
    "selection_start",
    "Choose images by place",
    {202: SelectionSerializer},
    description="The images are chosen in the background. Poll it until its state is done; then confirm it.",
    request=NewSelectionSerializer,
)
def selection_start(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    serializer = validated_data(NewSelectionSerializer, request)
    sent = serializer
    tags = sent.pop("languages")
    languages = list(Language.objects.filter(pk__in=tags))
    if unknown := sorted(set(tags) - {one.tag for one in languages}):
        said = _("There is no language %s.") % unknown[0]
        raise ApiError(409, "selection-refused", said, {"languages": [said]})
    source = source_in(project, sent.pop("collection", ""), sent.pop("candidates", ""))
    with refused_as("selection-refused", services.SelectionRefusedError):
        selection = services.start_selection(
            project=project, source=source, languages=languages, by=person_asking(request), now=timezone.now(), **sent
        )
    tasks.ask_for_choice(selection.pk)
    return started(SelectionSerializer(selection).data, "selection", selection.pk)


@job_kind("selection")
def selection_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, number in Selection.objects.filter(pk__in=pks).values_list("project__slug", "number"):
        found = selection_for(person_asking(request), slug, number)
        address = reverse("api:selection-show", args=[slug, number])
        yield JobReport(found.state, address, found.error, finished_at=found.finished_at)


@api.get("selection", "A selection", SelectionSerializer)
def selection_show(request: Request, slug: str, number: int) -> Response:
    return Response(SelectionSerializer(selection_for(person_asking(request), slug, number)).data)


@api.post(
    "selection_confirm",
    "Confirm a selection",
    {200: SelectionSerializer},
    description="Its images become a collection that rounds can use.",
    request=ConfirmSerializer,
)
def selection_confirm(request: Request, slug: str, number: int) -> Response:
    selection = selection_for(person_asking(request), slug, number, Role.MANAGER)
    sent = validated_data(ConfirmSerializer, request)
    with refused_as("selection-refused", services.SelectionRefusedError):
        services.confirm_selection(selection=selection, **sent, by=person_asking(request), now=timezone.now())
    return Response(SelectionSerializer(selection_for(person_asking(request), slug, number, Role.MANAGER)).data)


@api.delete("selection_discard", "Discard the draft of a selection")
def selection_discard(request: Request, slug: str, number: int) -> Response:
    selection = selection_for(person_asking(request), slug, number, Role.MANAGER)
    with refused_as("selection-refused", services.SelectionRefusedError):
        services.discard_selection(selection=selection, by=person_asking(request), now=timezone.now())
    return Response(status=204)


@api.post(
    "selected_exchange",
    "Exchange an image of a selection for another",
    {200: SelectedImageSerializer},
    request=NewExchangeSerializer,
    description="For the one that is named, or the next in order. The one that leaves never comes back.",
)
def selected_exchange(request: Request, slug: str, number: int) -> Response:
    by = person_asking(request)
    selection = selection_for(by, slug, number, Role.MANAGER)
    sent = validated_data(NewExchangeSerializer, request)
    chosen = {"language": sent.pop("language"), "key": sent.pop("key")}
    form = filled_form(partial(ExchangeForm, keys=[]), sent)
    row = get_object_or_404(selection.selected_images, **chosen)
    with refused_as("selection-refused", services.SelectionRefusedError):
        new = exchange_image(
            selected=row, reason=form.cleaned_data["reason"], replacement=form.key, by=by, now=timezone.now()
        )
    return Response(SelectedImageSerializer(new).data)


@api.list(
    "selected_images",
    "The images of a selection",
    "SelectedImagePage",
    SelectedImageSerializer,
    parameters=[
        OpenApiParameter("language", str, description="Only those chosen for this language, by its tag."),
        OpenApiParameter("level", str, enum=PlaceLevelChoice.values, description="Only those chosen at this level."),
    ],
)
def selected_list(request: Request, slug: str, number: int) -> Response:
    selection = selection_for(person_asking(request), slug, number)
    asked = {"language": asked_language(request, selection.languages), "level": request.query_params.get("level")}
    rows: QuerySet[SelectedImage] = selection.selected_images.filter(
        **{name: one for name, one in asked.items() if one}
    )
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(SelectedImageSerializer))


def source_in(project: Project, collection: str, candidates: str) -> Collection | CandidateList:
    if bool(collection) == bool(candidates):
        raise ApiError(409, "selection-refused", _("Name a collection or a candidate list."))
    found = (
        collections_in(project).filter(slug=collection).first()
        if collection
        else project.candidate_lists.filter(slug=candidates).first()
    )
    if found is None:
        raise Http404(_("There is no such collection or candidate list in this project."))
    return found


selection_show_or_discard = one_address(selection_show, selection_discard)
selection_list_or_start = one_address(selection_list, selection_start)
