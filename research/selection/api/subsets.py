"""Named subsets: list, make, read, rename and delete them; and the parameter `images`, which takes image filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import Collection, Image
from core.images.permissions import collections_in
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, page
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from research.selection.models import Subset
from research.selection.permissions import subset_for
from research.selection.rules.image_filters import EXAMPLES, MAX_FILTER_CHARACTERS, ImageFilter, ImageFilterError, parse
from research.selection.selectors.subsets import SubsetRow, check, keys_by_image, rows_of, subsets_of
from research.selection.services import subsets as services

api = ApiOperations("subsets")
explain(
    {
        "subset-refused": "The subset cannot be made or changed so; detail and errors say why.",
        "subset-in-use": "The subset is used and cannot be deleted; detail says by what.",
    }
)

MAX_DESCRIPTION_CHARACTERS = 2000
MAX_KEY_CHARACTERS = 200
MAX_KEYS = 100_000


class SubsetSerializer(serializers.Serializer[Any]):
    slug = serializers.SlugField(source="subset.slug")
    name = serializers.CharField(source="subset.name")
    description = serializers.CharField(source="subset.description")
    images = serializers.IntegerField(source="size", help_text="How many.")
    image_filter = serializers.SerializerMethodField(help_text="Limits figures to the subset, as `images`.")
    used_by = serializers.SerializerMethodField(help_text="What uses it; then it cannot be deleted.")
    created_at = serializers.DateTimeField(source="subset.created_at")

    def get_image_filter(self, row: SubsetRow) -> str:
        return f"subset:{row.subset.slug}"

    def get_used_by(self, row: SubsetRow) -> list[str]:
        return [use.title for use in row.uses]


class NewSubsetSerializer(serializers.Serializer[Any]):
    slug = serializers.SlugField(max_length=80, help_text="Image filters use it: subset:SLUG. It never changes.")
    name = serializers.CharField(
        max_length=120, allow_blank=True, default="", help_text="On pages; without one, it is the slug."
    )
    description = serializers.CharField(max_length=MAX_DESCRIPTION_CHARACTERS, allow_blank=True, default="")
    collection = serializers.SlugField(required=False, help_text="Only images of this collection, by its slug.")
    keys = serializers.ListField(
        child=serializers.CharField(max_length=MAX_KEY_CHARACTERS, allow_blank=True),
        max_length=MAX_KEYS,
        required=False,
        help_text="Keys of the images; or give images, sample, or both.",
    )
    images = serializers.CharField(
        max_length=MAX_FILTER_CHARACTERS, allow_blank=True, default="", help_text=f"An image filter: {EXAMPLES}."
    )
    sample = serializers.IntegerField(
        min_value=1, max_value=10_000_000, required=False, help_text="Draw this many at random."
    )
    per_language = serializers.BooleanField(
        default=False, help_text="Draw as many for each language that images were chosen for."
    )
    seed = serializers.IntegerField(min_value=0, max_value=services.MAX_SEED, default=0)


class SubsetNamesSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=120, allow_blank=True, help_text="Not only blanks.")
    description = serializers.CharField(max_length=MAX_DESCRIPTION_CHARACTERS, allow_blank=True, default="")


class SubsetImageSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="Empty if no collection of the project has the image any more.")


@api.list("subsets", "The named subsets of a project", "SubsetPage", SubsetSerializer)
def subset_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)

    def show(subsets: Sequence[Subset]) -> Any:
        return SubsetSerializer(rows_of(project, subsets), many=True).data

    return page(request, [ListPart(0, subsets_of(project))], order=["pk"], show=show)


@api.post("subset_make", "Make a named subset", {201: SubsetSerializer}, request=NewSubsetSerializer)
def subset_make(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    sent = validated_data(NewSubsetSerializer, request)
    given = sent
    about = {name: given[name] for name in ("slug", "name", "description")}
    try:
        images = services.images_wanted(project, _wanted(project, given))
        made = services.make_subset(
            project=project, images=images, by=person_asking(request), now=timezone.now(), **about
        )
    except services.SubsetError as refused:
        raise _refusal(refused, "keys" if "keys" in given else "images") from None
    except ImageFilterError as error:
        raise ApiError(409, "subset-refused", str(error), {"images": [str(error)]}) from None
    return Response(_shown(made), status=201)


@api.get("subset", "A named subset", SubsetSerializer)
def subset_show(request: Request, slug: str, subset_slug: str) -> Response:
    return Response(_shown(subset_for(person_asking(request), slug, subset_slug)))


@api.put("subset_rename", "Rename a named subset", SubsetSerializer, request=SubsetNamesSerializer)
def subset_rename(request: Request, slug: str, subset_slug: str) -> Response:
    subset = subset_for(person_asking(request), slug, subset_slug, Role.MANAGER)
    sent = validated_data(SubsetNamesSerializer, request)
    try:
        services.rename_subset(subset=subset, by=person_asking(request), now=timezone.now(), **sent)
    except services.SubsetError as refused:
        raise _refusal(refused, "name") from None
    return Response(_shown(subset))


@api.delete("subset_delete", "Delete a named subset that nothing uses; its images stay")
def subset_delete(request: Request, slug: str, subset_slug: str) -> Response:
    subset = subset_for(person_asking(request), slug, subset_slug, Role.MANAGER)
    with refused_as("subset-in-use", services.SubsetError):
        services.delete_subset(subset=subset, by=person_asking(request), now=timezone.now())
    return Response(status=204)


@api.list("subset_images", "The keys of a subset's images", "SubsetImagePage", SubsetImageSerializer)
def subset_images(request: Request, slug: str, subset_slug: str) -> Response:
    subset = subset_for(person_asking(request), slug, subset_slug)

    def show(images: Sequence[Model]) -> Any:
        keys = keys_by_image(subset.project, [image.pk for image in images])
        return [{"key": keys.get(image.pk, "")} for image in images]

    return page(
        request, [ListPart(0, Image.objects.filter(pk__in=subset.images.values("pk")))], order=["pk"], show=show
    )


def _wanted(project: Project, given: dict[str, Any]) -> services.SubsetRequest:
    return services.SubsetRequest(
        keys=given.get("keys"),
        images=parse(given["images"]),
        collection=_collection(project, given["collection"]) if "collection" in given else None,
        sample=given.get("sample"),
        per_language=given["per_language"],
        seed=given["seed"],
    )


def _collection(project: Project, slug: str) -> Collection:
    found = collections_in(project).filter(slug=slug).first()
    if found is None:
        said = _("There is no such collection in this project.")
        raise ApiError(409, "subset-refused", said, {"collection": [said]})
    return found


def _refusal(refused: services.SubsetError, field: str) -> ApiError:
    return ApiError(409, "subset-refused", str(refused), {field: refused.problems})


def _shown(subset: Subset) -> Any:
    [row] = rows_of(subset.project, [subset])
    return SubsetSerializer(row).data


subset_list_or_make = one_address(subset_list, subset_make)
subset_show_or_change = one_address(subset_show, subset_rename, subset_delete)


explain({"images-refused": "The image filter cannot be understood or applied; errors say why."})

IMAGES = OpenApiParameter(
    "images",
    {"type": "string", "maxLength": MAX_FILTER_CHARACTERS},
    description=f"Only these images: {EXAMPLES}; all of several, separated by commas, must hold.",
)


def asked_filter(request: Request, project: Project) -> ImageFilter:
    """Read the parameter; a wrong one is refused with the reason."""
    text = request.query_params.get("images", "")
    if len(text) > MAX_FILTER_CHARACTERS:
        said = _("An image filter has at most %(limit)d characters.") % {"limit": MAX_FILTER_CHARACTERS}
        raise serializers.ValidationError({"images": [said]})
    with image_filter_refusals():
        return check(parse(text.replace("\0", "?")), project=project)


@contextmanager
def image_filter_refusals() -> Iterator[None]:
    """Answer an ImageFilterError, of an unknown subset for one, with 409 and the reason."""
    try:
        yield
    except ImageFilterError as error:
        raise ApiError(409, "images-refused", str(error), {"images": [str(error)]}) from error
