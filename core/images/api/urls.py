"""Addresses of collections under /api/v1/."""

from django.urls import path

from core.images.api import collections

ONE = "collections/<slug:slug>"

urlpatterns = [
    path("collections/", collections.collection_list_or_create, name="collection-list"),
    path(f"{ONE}/", collections.collection_show, name="collection-show"),
    path(f"{ONE}/images/", collections.collection_images, name="collection-images"),
]
