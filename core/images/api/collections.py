"""Collections and their images, for managers and researchers; managers make, copy and change collections."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.api.images import FILTERS, found_entries
from core.images.api.shapes import ImageSerializer, image_shown
from core.images.forms import MAX_NAME_CHARACTERS, CollectionForm, CollectionNameForm
from core.images.models import Collection
from core.images.permissions import check_manager, collection_for, collection_to_change, collections_for
from core.images.selectors import with_sizes
from core.images.services.collections import (
    create_collection,
    duplicate_collection,
    give_collection,
    rename_collection,
)
from core.people.api.forms import filled_form, form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.owners import change_owner_as_sent, owner_fields
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import check_form, validated_data
from core.people.api.views import person_asking
from core.people.models import Role
from core.people.permissions import project_for

api = ApiOperations("collections")


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    project = serializers.CharField(
        source="project.slug", allow_null=True, default=None, help_text="The slug of its owner; null if it has none."
    )
    size = serializers.IntegerField(help_text="How many images it has.")

    class Meta:
        model = Collection
        fields = ("slug", "name", "description", "project", "is_shared", "size", "created_at")
        read_only_fields = fields


class NewCollectionSerializer(serializers.Serializer[Any]):
    project = serializers.SlugField(help_text="The slug of its owner.")
    name = serializers.CharField(max_length=MAX_NAME_CHARACTERS)
    description = serializers.CharField(allow_blank=True, default="")
    is_shared = serializers.BooleanField(default=False, help_text="Whether all projects can use it.")


CollectionChangeSerializer = form_shape("CollectionChange", CollectionNameForm, filled=None, **owner_fields())
CollectionCopySerializer = form_shape("CollectionCopy", CollectionNameForm, omit=("description",))


@api.list("collections", "The collections that you may use", "CollectionPage", CollectionSerializer)
def collection_list(request: Request) -> Response:
    rows = with_sizes(collections_for(person_asking(request)))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(CollectionSerializer))


@api.post("collection_create", "Make a collection", {201: CollectionSerializer}, request=NewCollectionSerializer)
def collection_create(request: Request) -> Response:
    user = person_asking(request)
    check_manager(user)
    sent = validated_data(NewCollectionSerializer, request)
    owner = project_for(user, sent["project"], Role.MANAGER)
    form = CollectionForm(sent | {"project": owner.pk}, by=user)
    check_form(form)
    made = create_collection(**form.cleaned_data, by=user)
    return _answer(made, status=201)


@api.get("collection", "A collection", CollectionSerializer)
def collection_show(request: Request, slug: str) -> Response:
    return _answer(collection_for(person_asking(request), slug))


@api.patch(
    "collection_change",
    "Rename, describe or share a collection, or give it to another project",
    CollectionSerializer,
    request=CollectionChangeSerializer,
    description="All of it or nothing.",
)
def collection_change(request: Request, slug: str) -> Response:
    by = person_asking(request)
    collection = collection_to_change(by, slug)
    sent = validated_data(CollectionChangeSerializer, request)
    with transaction.atomic():
        give = partial(give_collection, collection=collection)
        change_owner_as_sent(sent, thing=collection, give=give, by=by)
        if sent:
            initial = {"name": collection.name, "description": collection.description}
            form = filled_form(partial(CollectionNameForm, initial=initial, collection=collection, by=by), sent)
            rename_collection(collection=collection, by=by, now=timezone.now(), **form.cleaned_data)
    return _answer(collection)


@api.post(
    "collection_duplicate",
    "Copy a collection, with another name",
    {201: CollectionSerializer},
    request=CollectionCopySerializer,
)
def collection_duplicate(request: Request, slug: str) -> Response:
    by = person_asking(request)
    collection = collection_to_change(by, slug)
    make = partial(CollectionNameForm, collection=collection, by=by, is_copy=True)
    form = sent_form(request, CollectionCopySerializer, make)
    made = duplicate_collection(collection=collection, name=form.cleaned_data["name"], by=by, now=timezone.now())
    return _answer(made, status=201)


def _answer(collection: Collection, *, status: int = 200) -> Response:
    row = with_sizes(Collection.objects.filter(pk=collection.pk)).get()
    return Response(CollectionSerializer(row).data, status=status)


@api.list(
    "collection_images",
    "The images of a collection",
    "CollectionImagePage",
    ImageSerializer,
    description="With the filters of the page.",
    parameters=FILTERS,
)
def collection_images(request: Request, slug: str) -> Response:
    user = person_asking(request)
    asked = {one.name: value for one in FILTERS if (value := request.query_params.get(one.name))}
    collection = collection_for(user, slug)
    entries = found_entries(asked, collection, user) if asked else collection.entries.all()
    return page(
        request,
        [ListPart(0, entries.select_related("image", "collection"))],
        order=["position", "pk"],
        show=lambda rows: [image_shown(entry, user) for entry in rows],
    )


collection_list_or_create = one_address(collection_list, collection_create)
collection_show_or_change = one_address(collection_show, collection_change)
