"""One image of a collection, and what is stored about it or about many: title, author, licence, source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.api.shapes import ImageSerializer, image_shown
from core.images.forms import CHANGED_TOGETHER, FindForm, ImageEditForm, ManyImagesEditForm
from core.images.models import Collection, CollectionImage, Image
from core.images.permissions import collection_for, collection_to_change, entry_of
from core.images.rules.attributions import FIELDS
from core.images.selectors.attributions import planned_edit
from core.images.selectors.filters import parameters, registered
from core.images.services import attributions as services
from core.people.api.forms import filled_form, form_parameters, form_shape
from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain
from core.people.api.requested import check_form, valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import User

api = ApiOperations("collections")
explain(
    {
        "image-changed": "Somebody else changed the image since `seen`; errors has what is stored now.",
        "image-shared": "The image is in a collection that you do not manage: fill in only what is missing.",
        "edit-outdated": "The edit would change another number of images than `confirmed`. Ask again without it.",
    }
)
MAX_CHOSEN = 10_000
FILTERS = [
    *form_parameters(
        FindForm,
        find="Words that the title, file name, key or author of an image has, all of them.",
        licence="“is:” and a licence; “none” or “no-author” for images that lack one.",
    ),
    OpenApiParameter(
        "import", {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}, description="Images of this import, by ID."
    ),
    *(
        OpenApiParameter(one.name, str, description=f"{one.label}, as in the address of the page.")
        for one in registered()
    ),
]
"""Those of the page; apps above have added theirs when addresses are read."""


class CollectionImageSerializer(ImageSerializer):
    title = serializers.CharField(allow_blank=True)
    author = serializers.CharField(allow_blank=True)
    licence = serializers.CharField(allow_blank=True)
    licence_url = serializers.CharField(allow_blank=True)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    seen = serializers.IntegerField(help_text="The newest change of these; send it with the next.")
    excluded_at = serializers.DateTimeField(allow_null=True, help_text="Since when it is left out of results; or null.")
    exclusion_reason = serializers.CharField(allow_blank=True)


ImageChangeSerializer = form_shape("ImageChange", ImageEditForm, filled=None)
ImagesEditSerializer = form_shape(
    "ImagesEdit",
    ManyImagesEditForm,
    omit=[f"change_{box}" for box in CHANGED_TOGETHER],
    filled=None,
    images=serializers.ListField(
        child=serializers.UUIDField(),
        max_length=MAX_CHOSEN,
        required=False,
        help_text="Their IDs; without them, all that the filters find.",
    ),
    filters=serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="As on the page of the collection: find, licence and others by name; none for all images.",
    ),
)


class ImagesEditAnswerSerializer(serializers.Serializer[Any]):
    changed = serializers.IntegerField()
    changing = serializers.IntegerField(help_text="How many it would change: send this as `confirmed`.")
    refused = serializers.IntegerField(help_text="How many are also in collections that you do not manage.")
    unchanged = serializers.IntegerField(help_text="How many have these values already, or others that stay.")


@api.get("collection_image", "An image of a collection", CollectionImageSerializer)
def image_show(request: Request, slug: str, public_id: UUID) -> Response:
    user = person_asking(request)
    return image_answer(entry_of(collection_for(user, slug), public_id), user)


@api.patch(
    "image_change",
    "Change the title, author, licence or source of an image",
    CollectionImageSerializer,
    request=ImageChangeSerializer,
    description="Every change stays on record.",
)
def image_change(request: Request, slug: str, public_id: UUID) -> Response:
    by = person_asking(request)
    entry = entry_of(collection_to_change(by, slug), public_id)
    sent = validated_data(ImageChangeSerializer, request)
    form = filled_form(partial(ImageEditForm, initial=_stored(entry)), sent)
    try:
        services.edit_image(
            entry=entry, values=form.values(), seen=form.cleaned_data["seen"], by=by, now=timezone.now()
        )
    except services.AttributionChangedError:
        entry.image.refresh_from_db()
        again = form.again(entry.image, services.newest_change(entry.image_id))
        errors = {name: reasons for name, reasons in again.errors.items() if name in FIELDS}
        raise ApiError(409, "image-changed", again.non_field_errors()[0], errors) from None
    except services.AttributionRefusedError:
        form.refuse_replacing()
        raise ApiError(409, "image-shared", form.non_field_errors()[0]) from None
    return image_answer(entry_of(entry.collection, public_id), by)


@api.post(
    "images_edit",
    "Change titles, authors, licences or sources of many images",
    {200: ImagesEditAnswerSerializer},
    request=ImagesEditSerializer,
    description="Only of what is sent. Without `confirmed`, nothing is changed and the answer says what would be.",
)
def images_edit(request: Request, slug: str) -> Response:
    by = person_asking(request)
    collection = collection_to_change(by, slug)
    sent = validated_data(ImagesEditSerializer, request)
    images = _chosen(collection, by, sent.pop("images", None), sent.pop("filters", {}))
    boxes = {f"change_{box}": True for box, names in CHANGED_TOGETHER.items() if {*names} & {*sent}}
    form = filled_form(ManyImagesEditForm, sent | boxes)
    edit, confirmed = form.edit(), form.cleaned_data["confirmed"]
    counts, changed = planned_edit(images, edit, by=by).counts(), 0
    if confirmed:
        try:
            changed = services.edit_images(
                collection=collection, images=images, edit=edit, confirmed=confirmed, by=by, clock=timezone.now
            )
        except services.EditOutdatedError:
            said = _("The images changed meanwhile. Nothing was done yet: check the numbers and confirm again.")
            raise ApiError(409, "edit-outdated", said) from None
    return Response(ImagesEditAnswerSerializer(counts | {"changed": changed}).data)


def image_answer(entry: CollectionImage, user: User) -> Response:
    about = {"excluded_at": entry.excluded_at, "exclusion_reason": entry.exclusion_reason}
    return Response(CollectionImageSerializer(image_shown(entry, user) | _stored(entry) | about).data)


def _stored(entry: CollectionImage) -> dict[str, Any]:
    stored = {name: getattr(entry.image, name) for name in FIELDS}
    return stored | {"seen": services.newest_change(entry.image_id)}


def _chosen(collection: Collection, by: User, named: list[UUID] | None, filters: dict[str, str]) -> QuerySet[Image]:
    if named is not None:
        return Image.objects.filter(entries__collection=collection, public_id__in=named)
    if set(filters) - set(parameters()):
        raise serializers.ValidationError({"filters": [valid_values(parameters())]})
    return Image.objects.filter(pk__in=found_entries(filters, collection, by).values("image"))


def found_entries(filters: Mapping[str, str], collection: Collection, by: User) -> QuerySet[CollectionImage]:
    """Find entries by the filters of the page of the collection.

    Raises rest_framework.serializers.ValidationError.
    """
    find = FindForm(filters, collection=collection, by=by)
    entries = find.found()
    check_form(find)
    return entries
